/// \file  Many different copies in one launch: each warp finds its tile in a table, and the tile's
/// copy in another.
#include "copy/cuda/device_code.cuh"

namespace strake::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kWarps = kThreads / kWarp;
// Words that a lane has in flight.
constexpr int kInFlight = 4;

template <int Slots>
struct BatchArguments {
  const strake_batch_copy* copies;
  const strake_batch_tile* tiles;
  std::uint32_t tile_count;
  std::int32_t tile_log2;
  std::byte* bases[Slots];
};

/// A side's words by one of its kinds. `first` is the tile's first word, in words of the copy; a
/// word that is moved is the narrower one of 1 << Log2 bytes that the addresses allow: 1 <<
/// narrower of them make one of the copy's.
struct Words {
  std::byte* base;
  std::int64_t first;
  int word_log2;
  int narrower;
};

template <int Log2>
__device__ __forceinline__ std::byte* dense_word(const Words& words, std::uint32_t at) {
  return words.base + (words.first << words.word_log2) + (static_cast<std::int64_t>(at) << Log2);
}

__device__ __forceinline__ std::uint32_t part_of(const Words& words, std::uint32_t at) {
  return at & ((1U << words.narrower) - 1);
}

template <int Log2>
__device__ __forceinline__ std::byte* box_word(const strake_side& side, const Words& words,
                                               std::uint32_t at) {
  const std::uint32_t word = static_cast<std::uint32_t>(words.first) + (at >> words.narrower);
  return words.base +
         (static_cast<std::int64_t>(strake_box_words(&side, word)) << words.word_log2) +
         (part_of(words, at) << Log2);
}

template <int Log2>
__device__ __forceinline__ std::byte* any_word(const strake_side& side, const Words& words,
                                               std::uint32_t at) {
  const std::int64_t word = words.first + (at >> words.narrower);
  return words.base + (strake_side_offset(&side, words.word_log2, word) - side.offset) +
         (part_of(words, at) << Log2);
}

/// Moves words [0, count) of a tile: every load of a group before its stores.
template <int Log2, typename Source, typename Target>
__device__ __forceinline__ void move_words(std::uint32_t count, Source source, Target target) {
  const std::uint32_t lane = threadIdx.x % kWarp;
  for (std::uint32_t group = 0; group < count; group += kInFlight * kWarp) {
    Word<Log2> words[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::uint32_t at = group + lane + i * kWarp;
      if (at < count) words[i] = load_word<Log2>(source(at));
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::uint32_t at = group + lane + i * kWarp;
      if (at < count) store_word<Log2>(target(at), words[i]);
    }
  }
}

template <int Log2, bool BoxesOnly>
__device__ __forceinline__ void move_batch_tile(const strake_batch_copy& copy, const Words& to,
                                                const Words& from, std::uint32_t count) {
  const bool to_dense = copy.to.kind == STRAKE_SIDE_DENSE;
  const bool from_dense = copy.from.kind == STRAKE_SIDE_DENSE;
  const auto to_run = [&](std::uint32_t at) { return dense_word<Log2>(to, at); };
  const auto from_run = [&](std::uint32_t at) { return dense_word<Log2>(from, at); };
  if constexpr (!BoxesOnly) {
    if (copy.to.kind > STRAKE_SIDE_BOX || copy.from.kind > STRAKE_SIDE_BOX) {
      move_words<Log2>(
          count, [&](std::uint32_t at) { return any_word<Log2>(copy.from, from, at); },
          [&](std::uint32_t at) { return any_word<Log2>(copy.to, to, at); });
      return;
    }
  }
  const strake_side to_side = copy.to;
  const strake_side from_side = copy.from;
  const auto to_box = [&](std::uint32_t at) { return box_word<Log2>(to_side, to, at); };
  const auto from_box = [&](std::uint32_t at) { return box_word<Log2>(from_side, from, at); };
  if (to_dense && from_dense) {
    move_words<Log2>(count, from_run, to_run);
  } else if (to_dense) {
    move_words<Log2>(count, from_box, to_run);
  } else if (from_dense) {
    move_words<Log2>(count, from_run, to_box);
  } else {
    move_words<Log2>(count, from_box, to_box);
  }
}

template <bool BoxesOnly, int Slots>
__global__ void __launch_bounds__(kThreads)
    batch_kernel(const __grid_constant__ BatchArguments<Slots> a,
                 const __grid_constant__ Signal signal) {
  const std::uint32_t number = blockIdx.x * kWarps + threadIdx.x / kWarp;
  const bool any = number < a.tile_count;
  const strake_batch_tile tile = any ? a.tiles[number] : strake_batch_tile{0, 0};
  const strake_batch_copy& copy = a.copies[tile.copy];
  const int word_log2 = copy.word_log2;
  const std::int64_t first = static_cast<std::int64_t>(tile.index) << a.tile_log2;
  const auto words =
      static_cast<std::uint32_t>(any ? min(copy.words - first, std::int64_t{1} << a.tile_log2) : 0);
  std::byte* const to = a.bases[copy.to.slot] + copy.to.offset;
  std::byte* const from = a.bases[copy.from.slot] + copy.from.offset;
  // The addresses may allow no word as wide as the layouts do.
  const std::uintptr_t low =
      reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
  const int log2 = min(word_log2, __ffs(static_cast<int>(low) | (1 << word_log2)) - 1);
  const int narrower = word_log2 - log2;
  const Words to_words = {to, first, word_log2, narrower};
  const Words from_words = {from, first, word_log2, narrower};
  const std::uint32_t count = words << narrower;
  wait_for_work_before();
  switch (log2) {
    case 4:
      move_batch_tile<4, BoxesOnly>(copy, to_words, from_words, count);
      break;
    case 3:
      move_batch_tile<3, BoxesOnly>(copy, to_words, from_words, count);
      break;
    case 2:
      move_batch_tile<2, BoxesOnly>(copy, to_words, from_words, count);
      break;
    case 1:
      move_batch_tile<1, BoxesOnly>(copy, to_words, from_words, count);
      break;
    default:
      move_batch_tile<0, BoxesOnly>(copy, to_words, from_words, count);
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
  return start_kernel(launch.boxes_only ? batch_kernel<true, Slots> : batch_kernel<false, Slots>,
                      (launch.tile_count + kWarps - 1) / kWarps, lane, arguments, signal);
}

}  // namespace

cudaError_t launch_batch(const BatchLaunch& launch, const Signal& signal, const Lane& lane) {
  // Parameters cost launch time by their size.
  constexpr int kFew = 16;
  constexpr int kSome = 256;
  if (launch.slots <= kFew) return start_batch<kFew>(launch, signal, lane);
  if (launch.slots <= kSome) return start_batch<kSome>(launch, signal, lane);
  return start_batch<kBatchSlots>(launch, signal, lane);
}

}  // namespace strake::cuda
