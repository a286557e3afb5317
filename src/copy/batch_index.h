/// \file  Index arithmetic of batches: from a word of one of many copies to where it lies. Words
/// are the copy's own, the widest that both of its layouts allow; indices have 32 bits wherever the
/// sizes do. In the common subset of C99, C++20, CUDA and OpenCL C, as index.h.
#ifndef STRAKE_COPY_BATCH_INDEX_H
#define STRAKE_COPY_BATCH_INDEX_H

#include "copy/index.h"

#if defined(__cplusplus)
#define STRAKE_ALIGN8 alignas(8)
#else
#define STRAKE_ALIGN8
#endif

/// 32 words: a bit for each word that begins a block, and the number of the last block before them.
typedef struct strake_rank {
  STRAKE_ALIGN8 strake_u32 begins;
  strake_u32 before;
} strake_rank;

/// How the words of one side of a copy are found.
enum strake_side_kind {
  STRAKE_SIDE_DENSE,
  STRAKE_SIDE_BOX,     // up to STRAKE_BOX_DIMS dims, all distances below 2^31 words
  STRAKE_SIDE_RANKED,  // a list of blocks, by counting bits
  STRAKE_SIDE_TREE,    // any layout, with 64-bit indices
};

/// A layout of any kind: its root, whose own offset is 0, and its tables.
typedef struct strake_rooted_tree {
  strake_node root;
  strake_tree tree;
} strake_rooted_tree;

/// One side of a copy.
typedef struct strake_side {
  strake_i64 offset;  // of the first byte, from the slot's base
  strake_i32 slot;
  strake_i32 kind;
  // BOX, all in words, innermost first. Unused dims have stride 0, and the count before them is
  // 2^31.
  strake_div32 block;
  strake_div32 count[STRAKE_BOX_DIMS - 1];
  strake_i32 stride[STRAKE_BOX_DIMS];
  // RANKED: word w of block b lies (deltas[b] + w) words from the first byte.
  STRAKE_GLOBAL const strake_rank* ranks;
  STRAKE_GLOBAL const strake_i32* deltas;
  STRAKE_GLOBAL const strake_rooted_tree* rooted;  // TREE
} strake_side;

/// How a copy is carried out.
enum strake_batch_way {
  STRAKE_WAY_RUN,     // from dense to dense
  STRAKE_WAY_PACK,    // from box to dense
  STRAKE_WAY_UNPACK,  // from dense to box
  STRAKE_WAY_BOXES,   // between boxes of one shape: one division finds a word in both
  STRAKE_WAY_ANY,
};

/// One copy of a batch.
typedef struct strake_batch_copy {
  strake_i64 words;
  strake_i32 word_log2;
  strake_i32 way;
  strake_i32 prefetch;  // whether the lines that are written are fetched first
  strake_i32 reserved;
  strake_side to;
  strake_side from;
} strake_batch_copy;

/// Words [index << tile_log2, (index + 1) << tile_log2) of a copy: what one warp moves.
typedef struct strake_batch_tile {
  strake_u32 copy;
  strake_u32 index;
} strake_batch_tile;

STRAKE_FN strake_u32 strake_popcount(strake_u32 bits) {
#if defined(__OPENCL_VERSION__)
  return popcount(bits);
#elif defined(__CUDA_ARCH__)
  return (strake_u32)__popc((int)bits);
#else
  return (strake_u32)__builtin_popcount(bits);
#endif
}

/// The block that holds a word of a ranked list.
STRAKE_FN strake_u32 strake_block_of(STRAKE_GLOBAL const strake_rank* ranks, strake_u32 word) {
  const strake_rank rank = ranks[word >> 5];
  return rank.before + strake_popcount(rank.begins << (31 - (word & 31)));
}

/// How many words from the first byte word `word` of a box lies; `dims` is a constant where this is
/// inlined.
STRAKE_FN strake_i32 strake_box_words(const strake_div32* block, const strake_div32* count,
                                      const strake_i32* stride, int dims, strake_u32 word) {
  strake_u32 rest = strake_quot32(*block, word);
  strake_i32 offset = (strake_i32)(word - rest * block->divisor);
  for (int i = 0; i + 1 < dims; ++i) {
    const strake_u32 next = strake_quot32(count[i], rest);
    offset += (strake_i32)(rest - next * count[i].divisor) * stride[i];
    rest = next;
  }
  return offset + (strake_i32)rest * stride[dims - 1];
}
/// Words from the first byte of a ranked list to its word `word`.
STRAKE_FN strake_i64 strake_ranked_words(STRAKE_GLOBAL const strake_side* side, strake_u32 word) {
  return (strake_i64)side->deltas[strake_block_of(side->ranks, word)] + word;
}

/// Bytes from the slot's base to word `word`, in any kind of side.
STRAKE_FN strake_i64 strake_side_offset(STRAKE_GLOBAL const strake_side* side, int word_log2,
                                        strake_i64 word) {
  strake_i64 words = word;
  if (side->kind == STRAKE_SIDE_BOX) {
    const strake_side box = *side;
    words = strake_box_words(&box.block, box.count, box.stride, STRAKE_BOX_DIMS, (strake_u32)word);
  } else if (side->kind == STRAKE_SIDE_RANKED) {
    words = strake_ranked_words(side, (strake_u32)word);
  } else if (side->kind == STRAKE_SIDE_TREE) {
    const strake_node root = side->rooted->root;
    return side->offset +
           strake_locate(&root, side->rooted->tree, word * ((strake_i64)1 << word_log2)).offset;
  }
  return side->offset + words * ((strake_i64)1 << word_log2);
}

#endif
