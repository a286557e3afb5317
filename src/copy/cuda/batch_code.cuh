/// \file  How a warp moves a tile of one of many copies: it finds the tile's words by the copy's
/// own arithmetic.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "copy/batch_index.h"
#include "copy/cuda/device_code.cuh"

namespace strake::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kWarps = kThreads / kWarp;
// Blocks that a multiprocessor runs at once, by the registers that its kernels need.
inline constexpr int kBlocksOfBoxes = 4;
inline constexpr int kBlocksOfAny = 3;

/// Blocks that give each tile a warp, but no more than run at once.
inline std::int64_t blocks_of(std::int64_t tiles, bool any, const LaunchTarget& target) {
  const std::int64_t most =
      std::int64_t{target.multiprocessors} * (any ? kBlocksOfAny : kBlocksOfBoxes);
  const std::int64_t enough = (tiles + kWarps - 1) / kWarps;
  return enough < most ? enough : most;
}

/// Words that a lane has in flight: 64 bytes, but no more than 8.
template <int Log2>
constexpr int kDeep = Log2 == 4 ? 4 : 8;

/// A tile of a copy. What is moved are words of 1 << Log2 bytes, the widest that the addresses
/// allow: 1 << narrower of them make a word of the copy's.
struct Tile {
  std::byte* to;
  const std::byte* from;
  std::int64_t first;   ///< in words of the copy
  std::uint32_t count;  ///< in words that are moved
  int word_log2;        ///< of the copy
  int narrower;
};

/// Bytes from a word of the copy to a part of it.
template <int Log2>
__device__ __forceinline__ std::uint32_t part_of(const Tile& tile, std::uint32_t at) {
  return (at & ((1U << tile.narrower) - 1)) << Log2;
}

/// Bytes from the run's first byte to word `at` of the tile.
template <int Log2>
__device__ __forceinline__ std::int64_t run_offset(const Tile& tile, std::uint32_t at) {
  return (tile.first << tile.word_log2) + (static_cast<std::int64_t>(at) << Log2);
}

/// A box's arithmetic, and the strides of both sides.
template <int Dims>
struct Box {
  strake_div32 block;
  strake_div32 count[Dims - 1];
  strake_i32 stride[Dims];
};

template <int Dims>
__device__ __forceinline__ Box<Dims> load_box(const strake_side& side) {
  Box<Dims> box;
  box.block = side.block;
#pragma unroll
  for (int i = 0; i + 1 < Dims; ++i) box.count[i] = side.count[i];
#pragma unroll
  for (int i = 0; i < Dims; ++i) box.stride[i] = side.stride[i];
  return box;
}

template <int Log2, int Dims>
__device__ __forceinline__ std::int64_t box_offset(const Box<Dims>& box, const Tile& tile,
                                                   std::uint32_t at) {
  const std::uint32_t word = static_cast<std::uint32_t>(tile.first) + (at >> tile.narrower);
  const std::int64_t words = strake_box_words(&box.block, box.count, box.stride, Dims, word);
  return (words << tile.word_log2) + part_of<Log2>(tile, at);
}

template <int Log2>
__device__ __forceinline__ std::int64_t any_offset(const strake_side& side, const Tile& tile,
                                                   std::uint32_t at) {
  const std::int64_t word = tile.first + (at >> tile.narrower);
  return strake_side_offset(&side, tile.word_log2, word) - side.offset + part_of<Log2>(tile, at);
}

/// Moves the tile's words: every load of a group before its stores. Past the end the last word is
/// loaded again and dropped, so that the loads need no branches.
template <int Log2, typename Source, typename Target>
__device__ __forceinline__ void move_words(const Tile& tile, bool prefetch, Source source,
                                           Target target) {
  constexpr int kWords = kDeep<Log2>;
  const std::uint32_t lane = threadIdx.x % kWarp;
  for (std::uint32_t group = lane; group < tile.count; group += kWords * kWarp) {
    Word<Log2> words[kWords];
    if (prefetch) {
#pragma unroll
      for (int i = 0; i < kWords; ++i)
        prefetch_line(tile.to + target(min(group + i * kWarp, tile.count - 1)));
    }
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      words[i] = load_word<Log2>(tile.from + source(min(group + i * kWarp, tile.count - 1)));
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const std::uint32_t at = group + i * kWarp;
      if (at < tile.count) store_word<Log2>(tile.to + target(at), words[i]);
    }
  }
}

template <int Log2, int Dims, bool Any>
__device__ __forceinline__ void move_batch_tile(const strake_batch_copy& copy, const Tile& tile) {
  const auto run = [&](std::uint32_t at) { return run_offset<Log2>(tile, at); };
  switch (copy.way) {
    case STRAKE_WAY_RUN:
      move_words<Log2>(tile, false, run, run);
      break;
    case STRAKE_WAY_PACK: {
      const Box<Dims> box = load_box<Dims>(copy.from);
      move_words<Log2>(
          tile, false, [&](std::uint32_t at) { return box_offset<Log2>(box, tile, at); }, run);
      break;
    }
    case STRAKE_WAY_UNPACK: {
      const Box<Dims> box = load_box<Dims>(copy.to);
      move_words<Log2>(tile, copy.prefetch != 0, run,
                       [&](std::uint32_t at) { return box_offset<Log2>(box, tile, at); });
      break;
    }
    case STRAKE_WAY_BOXES: {
      // Both have one shape: the divisions of the two are the same, and are made once.
      const Box<Dims> to = load_box<Dims>(copy.to);
      Box<Dims> from = to;
#pragma unroll
      for (int i = 0; i < Dims; ++i) from.stride[i] = copy.from.stride[i];
      move_words<Log2>(
          tile, copy.prefetch != 0,
          [&](std::uint32_t at) { return box_offset<Log2>(from, tile, at); },
          [&](std::uint32_t at) { return box_offset<Log2>(to, tile, at); });
      break;
    }
    default:
      if constexpr (Any) {
        move_words<Log2>(
            tile, copy.prefetch != 0,
            [&](std::uint32_t at) { return any_offset<Log2>(copy.from, tile, at); },
            [&](std::uint32_t at) { return any_offset<Log2>(copy.to, tile, at); });
      }
  }
}

/// Moves tile `number` of a copy between slots 0 and 1 of `bases`, or those that it names.
template <int Dims, bool Any>
__device__ __forceinline__ void move_numbered(const strake_batch_copy& copy, std::uint32_t number,
                                              int tile_log2, std::byte* const* bases) {
  Tile tile;
  tile.first = static_cast<std::int64_t>(number) << tile_log2;
  tile.word_log2 = copy.word_log2;
  tile.to = bases[copy.to.slot] + copy.to.offset;
  tile.from = bases[copy.from.slot] + copy.from.offset;
  const std::uintptr_t low =
      reinterpret_cast<std::uintptr_t>(tile.to) | reinterpret_cast<std::uintptr_t>(tile.from);
  const int log2 =
      min(tile.word_log2, __ffs(static_cast<int>(low & 15) | (1 << tile.word_log2)) - 1);
  tile.narrower = tile.word_log2 - log2;
  tile.count =
      static_cast<std::uint32_t>(min(copy.words - tile.first, std::int64_t{1} << tile_log2))
      << tile.narrower;
  switch (log2) {
    case 4:
      move_batch_tile<4, Dims, Any>(copy, tile);
      break;
    case 3:
      move_batch_tile<3, Dims, Any>(copy, tile);
      break;
    case 2:
      move_batch_tile<2, Dims, Any>(copy, tile);
      break;
    case 1:
      move_batch_tile<1, Dims, Any>(copy, tile);
      break;
    default:
      move_batch_tile<0, Dims, Any>(copy, tile);
  }
}

}  // namespace strake::cuda
