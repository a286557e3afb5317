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

template <int Dims, bool Any, int Slots>
__global__ void __launch_bounds__(kThreads, Any ? kBlocksOfAny : kBlocksOfBoxes)
    batch_kernel(const __grid_constant__ BatchArguments<Slots> a,
                 const __grid_constant__ Signal signal) {
  std::uint32_t number = blockIdx.x * kWarps + threadIdx.x / kWarp;
  strake_batch_tile next = number < a.tile_count ? a.tiles[number] : strake_batch_tile{0, 0};
  wait_for_work_before();
  while (number < a.tile_count) {
    const strake_batch_tile tile = next;
    number += gridDim.x * kWarps;
    if (number < a.tile_count) next = a.tiles[number];
    move_numbered<Dims, Any>(a.copies[tile.copy], tile.index, a.tile_log2, a.bases);
  }
  raise_signal(signal);
}

// Parameters cost launch time by their size.
constexpr int kFewTogether = 8;

/// A batch of two slots among others.
struct Joined {
  const strake_batch_copy* copies;
  const strake_batch_tile* tiles;
  std::byte* bases[2];
  std::uint32_t end;  ///< of its tiles, in the numbers of all
  std::int32_t tile_log2;
};

template <int Batches>
struct TogetherArguments {
  Joined batches[Batches];
  std::uint32_t tile_count;
};

template <int Dims, bool Any, int Batches>
__global__ void __launch_bounds__(kThreads, Any ? kBlocksOfAny : kBlocksOfBoxes)
    together_kernel(const __grid_constant__ TogetherArguments<Batches> a,
                    const __grid_constant__ Signal signal) {
  std::uint32_t number = blockIdx.x * kWarps + threadIdx.x / kWarp;
  wait_for_work_before();
  std::uint32_t begin = 0;
  for (int i = 0; number < a.tile_count; number += gridDim.x * kWarps) {
    for (; number >= a.batches[i].end; ++i) begin = a.batches[i].end;
    const Joined& batch = a.batches[i];
    const strake_batch_tile tile = batch.tiles[number - begin];
    move_numbered<Dims, Any>(batch.copies[tile.copy], tile.index, batch.tile_log2, batch.bases);
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

template <int Batches>
cudaError_t start_together(std::span<const BatchLaunch> launches, bool any, unsigned blocks,
                           const Signal& signal, const Lane& lane) {
  TogetherArguments<Batches> arguments;
  arguments.tile_count = 0;
  Joined* joined = arguments.batches;
  for (const BatchLaunch& launch : launches) {
    arguments.tile_count += launch.tile_count;
    *joined++ = {launch.copies,
                 launch.tiles,
                 {launch.bases[0], launch.bases[1]},
                 arguments.tile_count,
                 launch.tile_log2};
  }
  const auto kernel =
      any ? together_kernel<STRAKE_BOX_DIMS, true, Batches> : together_kernel<3, false, Batches>;
  return start_kernel(kernel, blocks, lane, arguments, signal);
}

bool needs_any(std::span<const BatchLaunch> launches) {
  for (const BatchLaunch& launch : launches) {
    if (launch.any || launch.box_dims > 3) return true;
  }
  return false;
}

std::int64_t blocks_of(std::int64_t tiles, bool any, const Lane& lane) {
  const std::int64_t most =
      std::int64_t{lane.multiprocessors} * (any ? kBlocksOfAny : kBlocksOfBoxes);
  const std::int64_t enough = (tiles + kWarps - 1) / kWarps;
  return enough < most ? enough : most;
}

}  // namespace

std::int64_t batch_blocks(const BatchLaunch& launch, const Lane& lane) noexcept {
  return blocks_of(launch.tile_count, launch.any, lane);
}

cudaError_t launch_batch(const BatchLaunch& launch, const Signal& signal, const Lane& lane) {
  // Parameters cost launch time by their size.
  constexpr int kFew = 16;
  constexpr int kSome = 256;
  if (launch.slots <= kFew) return start_batch<kFew>(launch, signal, lane);
  if (launch.slots <= kSome) return start_batch<kSome>(launch, signal, lane);
  return start_batch<kBatchSlots>(launch, signal, lane);
}

std::int64_t together_blocks(std::span<const BatchLaunch> launches, const Lane& lane) noexcept {
  std::int64_t tiles = 0;
  for (const BatchLaunch& launch : launches) tiles += launch.tile_count;
  return blocks_of(tiles, needs_any(launches), lane);
}

cudaError_t launch_together(std::span<const BatchLaunch> launches, const Signal& signal,
                            const Lane& lane) {
  const bool any = needs_any(launches);
  const auto blocks = static_cast<unsigned>(together_blocks(launches, lane));
  if (launches.size() <= kFewTogether)
    return start_together<kFewTogether>(launches, any, blocks, signal, lane);
  return start_together<kMostTogether>(launches, any, blocks, signal, lane);
}

cudaError_t load_together(const Lane& lane) {
  cudaError_t code = cudaSuccess;
  for (const bool any : {false, true}) {
    if (code == cudaSuccess) code = start_together<kFewTogether>({}, any, 1, {}, lane);
    if (code == cudaSuccess) code = start_together<kMostTogether>({}, any, 1, {}, lane);
  }
  return code;
}

}  // namespace strake::cuda
