/// \file  Index arithmetic that every back end shares: from a packed position to a byte offset,
/// without `/` or `%`. In the common subset of C99, C++20, CUDA and OpenCL C. Nothing here touches
/// the bytes that are moved.
#ifndef STRAKE_COPY_INDEX_H
#define STRAKE_COPY_INDEX_H

#if defined(__OPENCL_VERSION__)
#define STRAKE_FN static inline
#define STRAKE_GLOBAL __global
typedef int strake_i32;
typedef uint strake_u32;
typedef long strake_i64;
typedef ulong strake_u64;
#else
#include <stdint.h>
#if defined(__CUDACC__)
#define STRAKE_FN __host__ __device__ constexpr inline
#elif defined(__cplusplus)
#define STRAKE_FN constexpr inline
#else
#define STRAKE_FN static inline
#endif
#define STRAKE_GLOBAL
typedef int32_t strake_i32;
typedef uint32_t strake_u32;
typedef int64_t strake_i64;
typedef uint64_t strake_u64;
#endif

/// High halves of full products.
STRAKE_FN strake_u32 strake_mulhi32(strake_u32 a, strake_u32 b) {
  return (strake_u32)(((strake_u64)a * b) >> 32);
}
STRAKE_FN strake_u64 strake_mulhi64(strake_u64 a, strake_u64 b) {
#if defined(__OPENCL_VERSION__)
  return mul_hi(a, b);
#elif defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  __extension__ typedef unsigned __int128 strake_u128;
  return (strake_u64)(((strake_u128)a * b) >> 64);
#endif
}

/// Division of n < 2^31 by 1 <= d <= 2^31: with l = ceil(log2 d) and magic = ceil(2^(31+l) / d),
/// which fits 32 bits, n / d = (magic * 2n) >> (32 + l). The error of the magic, below 2^l, times n
/// stays below 2^(31+l).
typedef struct strake_div32 {
  strake_u32 magic;
  strake_u32 divisor;
  strake_u32 shift;
} strake_div32;

/// Division of n < 2^63 by 1 <= d < 2^63, likewise with magic = ceil(2^(63+l) / d).
typedef struct strake_div64 {
  strake_u64 magic;
  strake_u64 divisor;
  strake_u64 shift;
} strake_div64;

STRAKE_FN strake_u32 strake_quot32(strake_div32 d, strake_u32 n) {
  return strake_mulhi32(d.magic, n << 1) >> d.shift;
}
STRAKE_FN strake_u64 strake_quot64(strake_div64 d, strake_u64 n) {
  return strake_mulhi64(d.magic, n << 1) >> d.shift;
}

#if !defined(__OPENCL_VERSION__)
/// The constants are made on the host, once per divisor.
STRAKE_FN strake_div32 strake_make_div32(strake_u32 d) {
  strake_div32 r = {0, d, 0};
  while (((strake_u64)1 << r.shift) < d) ++r.shift;
  r.magic = (strake_u32)((((strake_u64)1 << (31 + r.shift)) + d - 1) / d);
  return r;
}
STRAKE_FN strake_div64 strake_make_div64(strake_u64 d) {
  __extension__ typedef unsigned __int128 strake_u128;
  strake_div64 r = {0, d, 0};
  while (((strake_u64)1 << r.shift) < d) ++r.shift;
  r.magic = (strake_u64)((((strake_u128)1 << (63 + r.shift)) + d - 1) / d);
  return r;
}
#endif

/// A box of up to STRAKE_BOX_DIMS dims whose bytes are counted in words, of fewer than 2^31 words
/// in all. Dims are innermost first; the outermost needs no divisor. Unused dims have stride 0, and
/// the count before them is 2^31.
#define STRAKE_BOX_DIMS 4
typedef struct strake_box32 {
  strake_div32 block;                       // words of a block
  strake_div32 count[STRAKE_BOX_DIMS - 1];  // of all dims but the outermost
  strake_i64 stride_bytes[STRAKE_BOX_DIMS];
} strake_box32;

/// Byte offset of packed word `word`, from a box's members (a kernel is given only as many as it
/// reads); `dims` is a constant where this is inlined.
STRAKE_FN strake_i64 strake_box32_offset(const strake_div32* block, const strake_div32* count,
                                         const strake_i64* stride_bytes, int dims, int word_log2,
                                         strake_u32 word) {
  strake_u32 rest = strake_quot32(*block, word);
  strake_i64 offset = (strake_i64)(word - rest * block->divisor) << word_log2;
  for (int i = 0; i + 1 < dims; ++i) {
    const strake_u32 next = strake_quot32(count[i], rest);
    offset += (strake_i64)(rest - next * count[i].divisor) * stride_bytes[i];
    rest = next;
  }
  return offset + (strake_i64)rest * stride_bytes[dims - 1];
}

/// One dim of a box in a tree, innermost first.
typedef struct strake_level {
  strake_div64 count;
  strake_i64 stride_bytes;
} strake_level;

/// Log2 of the packed bytes between two entries of a block list's tile table: a search starts among
/// the blocks of one tile (4 steps at 64 bytes a block), and the table costs 0.4 % of the bytes it
/// describes.
#define STRAKE_TILE_LOG2 10

enum strake_node_kind { STRAKE_BOX, STRAKE_BLOCKS, STRAKE_LISTED, STRAKE_REPEAT, STRAKE_SEQUENCE };

/// A layout as a table. Narrow tables (wide = 0) are 32-bit: offsets in units of 1 << shift bytes,
/// positions in bytes.
typedef struct strake_node {
  strake_i64 offset;  // bytes, relative to the parent
  strake_div64 unit;  // BOX, BLOCKS: bytes of a block; REPEAT: bytes of the child
  strake_i64 stride;  // REPEAT: bytes
  strake_i32 kind;
  strake_i32 first;  // BOX: first level; REPEAT, SEQUENCE: first child
  strake_i32 count;  // BOX: levels; SEQUENCE: children
  strake_i32 wide;
  strake_i32 shift;
  strake_i32 reserved;
  strake_i64 offsets;    // BLOCKS, LISTED: where its offsets begin in the pool
  strake_i64 positions;  // LISTED, SEQUENCE: where its n + 1 packed positions begin
  strake_i64 tiles;      // LISTED: where its tile table begins: the block that holds byte t <<
                         // STRAKE_TILE_LOG2
} strake_node;

typedef struct strake_tree {
  STRAKE_GLOBAL const strake_node* nodes;
  STRAKE_GLOBAL const strake_level* levels;
  STRAKE_GLOBAL const strake_i32* narrow;
  STRAKE_GLOBAL const strake_i64* wide;
} strake_tree;

/// Where a packed byte lies: its offset, and how many bytes of its block begin there.
typedef struct strake_spot {
  strake_i64 offset;
  strake_i64 left;
} strake_spot;

/// The last index in [lo, hi] whose position is at most p; positions[lo] <= p.
STRAKE_FN strake_i64 strake_search32(STRAKE_GLOBAL const strake_i32* positions, strake_i64 lo,
                                     strake_i64 hi, strake_i64 p) {
  while (lo < hi) {
    const strake_i64 mid = lo + ((hi - lo + 1) >> 1);
    if ((strake_i64)(strake_u32)positions[mid] <= p) {
      lo = mid;
    } else {
      hi = mid - 1;
    }
  }
  return lo;
}
STRAKE_FN strake_i64 strake_search64(STRAKE_GLOBAL const strake_i64* positions, strake_i64 lo,
                                     strake_i64 hi, strake_i64 p) {
  while (lo < hi) {
    const strake_i64 mid = lo + ((hi - lo + 1) >> 1);
    if (positions[mid] <= p) {
      lo = mid;
    } else {
      hi = mid - 1;
    }
  }
  return lo;
}

/// BLOCKS: where byte p of the node's packed bytes lies, relative to the node's own offset.
STRAKE_FN strake_spot strake_in_blocks(const strake_node* node, strake_tree tree, strake_i64 p) {
  const strake_i64 b = (strake_i64)strake_quot64(node->unit, (strake_u64)p);
  const strake_i64 r = p - b * (strake_i64)node->unit.divisor;
  strake_spot spot = {r, (strake_i64)node->unit.divisor - r};
  if (node->wide) {
    spot.offset += tree.wide[node->offsets + b];
  } else {
    spot.offset += (strake_i64)tree.narrow[node->offsets + b] * ((strake_i64)1 << node->shift);
  }
  return spot;
}

/// LISTED: the same for blocks with their own lengths.
STRAKE_FN strake_spot strake_in_listed(const strake_node* node, strake_tree tree, strake_i64 p) {
  const strake_i64 tile = node->tiles + (p >> STRAKE_TILE_LOG2);
  strake_spot spot = {0, 0};
  if (node->wide) {
    STRAKE_GLOBAL const strake_i64* positions = tree.wide + node->positions;
    const strake_i64 b = strake_search64(positions, tree.wide[tile], tree.wide[tile + 1], p);
    spot.offset = tree.wide[node->offsets + b] + (p - positions[b]);
    spot.left = positions[b + 1] - p;
  } else {
    STRAKE_GLOBAL const strake_i32* positions = tree.narrow + node->positions;
    const strake_i64 b = strake_search32(positions, tree.narrow[tile], tree.narrow[tile + 1], p);
    spot.offset = (strake_i64)tree.narrow[node->offsets + b] * ((strake_i64)1 << node->shift) +
                  (p - (strake_i64)(strake_u32)positions[b]);
    spot.left = (strake_i64)(strake_u32)positions[b + 1] - p;
  }
  return spot;
}

/// BOX: the same.
STRAKE_FN strake_spot strake_in_box(const strake_node* node, strake_tree tree, strake_i64 p) {
  strake_u64 rest = strake_quot64(node->unit, (strake_u64)p);
  const strake_i64 r = p - (strake_i64)(rest * node->unit.divisor);
  strake_spot spot = {r, (strake_i64)node->unit.divisor - r};
  for (int i = 0; i < node->count; ++i) {
    STRAKE_GLOBAL const strake_level* level = tree.levels + node->first + i;
    const strake_u64 next = i + 1 < node->count ? strake_quot64(level->count, rest) : 0;
    spot.offset += (strake_i64)(rest - next * level->count.divisor) * level->stride_bytes;
    rest = next;
  }
  return spot;
}

/// Any tree: `root` is nodes[0], held where it is fastest to read. 0 <= p < the layout's size.
STRAKE_FN strake_spot strake_locate(const strake_node* root, strake_tree tree, strake_i64 p) {
  strake_node node = *root;
  strake_i64 offset = node.offset;
  while (node.kind == STRAKE_REPEAT || node.kind == STRAKE_SEQUENCE) {
    strake_i64 child = node.first;
    if (node.kind == STRAKE_REPEAT) {
      const strake_i64 i = (strake_i64)strake_quot64(node.unit, (strake_u64)p);
      p -= i * (strake_i64)node.unit.divisor;
      offset += i * node.stride;
    } else {
      STRAKE_GLOBAL const strake_i64* positions = tree.wide + node.positions;
      const strake_i64 i = strake_search64(positions, 0, node.count - 1, p);
      p -= positions[i];
      child += i;
    }
    node = tree.nodes[child];
    offset += node.offset;
  }
  strake_spot spot = {0, 0};
  if (node.kind == STRAKE_BOX) {
    spot = strake_in_box(&node, tree, p);
  } else if (node.kind == STRAKE_BLOCKS) {
    spot = strake_in_blocks(&node, tree, p);
  } else {
    spot = strake_in_listed(&node, tree, p);
  }
  spot.offset += offset;
  return spot;
}

#endif
