/// \file  Many different copies in one launch. Of n warps each moves every n-th tile: it finds the
/// tile's copy in a table, and the tile's words by the copy's own arithmetic.
#include "copy/cuda/device_code.cuh"

namespace strake::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kWarps = kThreads / kWarp;
// Blocks that a multiprocessor runs at once, by the registers that its kernels need.
constexpr int kBlocksOfBoxes = 4;
constexpr int kBlocksOfAny = 3;

/// Words that a lane has in flight: 64 bytes, but no more than 8.
template <int Log2>
constexpr int kDeep = Log2 == 4 ? 4 : 8;

template <int Slots>
struct BatchArguments {
  const strake_batch_copy* copies;
  const strake_batch_tile* tiles;
  std::uint32_t tile_count;
  std::int32_t tile_log2;
  std::byte* bases[Slots];
};

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

template <int Dims, bool Any, int Slots>
__global__ void __launch_bounds__(kThreads, Any ? kBlocksOfAny : kBlocksOfBoxes)
    batch_kernel(const __grid_constant__ BatchArguments<Slots> a,
                 const __grid_constant__ Signal signal) {
  std::uint32_t number = blockIdx.x * kWarps + threadIdx.x / kWarp;
  strake_batch_tile next = number < a.tile_count ? a.tiles[number] : strake_batch_tile{0, 0};
  wait_for_work_before();
  while (number < a.tile_count) {
    const strake_batch_copy& copy = a.copies[next.copy];
    Tile tile;
    tile.first = static_cast<std::int64_t>(next.index) << a.tile_log2;
    number += gridDim.x * kWarps;
    if (number < a.tile_count) next = a.tiles[number];
    tile.word_log2 = copy.word_log2;
    tile.to = a.bases[copy.to.slot] + copy.to.offset;
    tile.from = a.bases[copy.from.slot] + copy.from.offset;
    const std::uintptr_t low =
        reinterpret_cast<std::uintptr_t>(tile.to) | reinterpret_cast<std::uintptr_t>(tile.from);
    const int log2 =
        min(tile.word_log2, __ffs(static_cast<int>(low & 15) | (1 << tile.word_log2)) - 1);
    tile.narrower = tile.word_log2 - log2;
    tile.count =
        static_cast<std::uint32_t>(min(copy.words - tile.first, std::int64_t{1} << a.tile_log2))
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
  raise_signal(signal);
}

template <int Slots>
cudaError_t start_batch(const BatchLaunch& launch, const Signal& signal, const Lane& lane) {
  BatchArguments<Slots> arguments;
  arguments.copies = launch.copies;
  arguments.tiles = launch.tiles;
  arguments.tile_count = launch.tile_count;
  arguments.tile_log2 = launch.tile_log2;
  for (int i = 0; i < launch.slots; ++i) arguments.bases[i] = launch.bases[i];
  const auto blocks = static_cast<unsigned>(batch_blocks(launch, lane));
  const auto kernel = launch.any             ? batch_kernel<STRAKE_BOX_DIMS, true, Slots>
                      : launch.box_dims <= 3 ? batch_kernel<3, false, Slots>
                                             : batch_kernel<STRAKE_BOX_DIMS, false, Slots>;
  return start_kernel(kernel, blocks, lane, arguments, signal);
}

}  // namespace

std::int64_t batch_blocks(const BatchLaunch& launch, const Lane& lane) noexcept {
  const std::int64_t most =
      std::int64_t{lane.multiprocessors} * (launch.any ? kBlocksOfAny : kBlocksOfBoxes);
  const std::int64_t enough = (std::int64_t{launch.tile_count} + kWarps - 1) / kWarps;
  return enough < most ? enough : most;
}

cudaError_t launch_batch(const BatchLaunch& launch, const Signal& signal, const Lane& lane) {
  // Parameters cost launch time by their size.
  constexpr int kFew = 16;
  constexpr int kSome = 256;
  if (launch.slots <= kFew) return start_batch<kFew>(launch, signal, lane);
  if (launch.slots <= kSome) return start_batch<kSome>(launch, signal, lane);
  return start_batch<kBatchSlots>(launch, signal, lane);
}

}  // namespace strake::cuda
