/// \file  Dense <-> lists of blocks at any alignment: a thread writes an aligned 8-byte word of the
/// target, shifted together from the words of the source that hold it.
///
/// Packing, the words are those of the dense run, each of one block or of two that meet in it, so
/// that all are written whole: stores of less than a word were half of the time (H200). Unpacking,
/// they are those that each block touches, the first and the last in part.
#include "copy/cuda/device_code.cuh"

namespace strake::cuda {
namespace {

constexpr int kWord = 1 << kShiftedWordLog2;
static_assert(kWord == sizeof(std::uint64_t));

__device__ __forceinline__ int skew_of(const std::byte* address) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(address) & (kWord - 1));
}

/// The aligned words that hold bytes [low, high) of the word at `from`; others are not read.
struct Pair {
  std::uint64_t lower;
  std::uint64_t upper;
};
__device__ __forceinline__ Pair load_pair(const std::byte* from, int low, int high) {
  const int skew = skew_of(from);
  const auto* words = reinterpret_cast<const std::uint64_t*>(from - skew);
  Pair pair{};
  if (low < min(high, kWord - skew)) pair.lower = words[0];
  if (max(low, kWord - skew) < high) pair.upper = words[1];
  return pair;
}
__device__ __forceinline__ std::uint64_t shifted(Pair pair, const std::byte* from) {
  const int bits = 8 * skew_of(from);
  return bits == 0 ? pair.lower : (pair.lower >> bits) | (pair.upper << (64 - bits));
}

/// Stores bytes [low, high) of a word: the longest aligned pieces where only one end is cut.
__device__ __forceinline__ void store_part(std::byte* to, std::uint64_t word, int low, int high) {
  const int count = high - low;
  if (count <= 0) return;
  if (count == kWord) {
    *reinterpret_cast<std::uint64_t*>(to) = word;
  } else if (high == kWord) {
    int at = kWord;
    if (count & 4) store_word<2>(to + (at -= 4), static_cast<std::uint32_t>(word >> 32));
    if (count & 2) {
      at -= 2;
      store_word<1>(to + at, static_cast<std::uint16_t>(word >> (8 * at)));
    }
    if (count & 1) store_word<0>(to + at - 1, static_cast<std::uint8_t>(word >> (8 * (at - 1))));
  } else if (low == 0) {
    int at = 0;
    if (count & 4) {
      store_word<2>(to, static_cast<std::uint32_t>(word));
      at = 4;
    }
    if (count & 2) {
      store_word<1>(to + at, static_cast<std::uint16_t>(word >> (8 * at)));
      at += 2;
    }
    if (count & 1) store_word<0>(to + at, static_cast<std::uint8_t>(word >> (8 * at)));
  } else {
    for (int at = low; at < high; ++at) {
      store_word<0>(to + at, static_cast<std::uint8_t>(word >> (8 * at)));
    }
  }
}

struct GatherArguments {
  GatherView list;
  std::byte* dense;
  const std::byte* strided;
  std::int64_t first;  // where in the packed bytes the first word begins: before `begin`, perhaps
  std::int64_t begin;
  std::int64_t end;
};

template <int PerThread>
__global__ void __launch_bounds__(kThreads) gather_kernel(const __grid_constant__ GatherArguments a,
                                                          const __grid_constant__ Signal signal) {
  const std::int64_t first =
      a.first +
      (static_cast<std::int64_t>(blockIdx.x) * (PerThread * kThreads) + threadIdx.x) * kWord;
  std::int64_t at[PerThread];
  int cut[PerThread];  // bytes that the block before the last one gives
  const std::byte* front[PerThread];
  const std::byte* back[PerThread];
#pragma unroll
  for (int i = 0; i < PerThread; ++i) {
    at[i] = first + i * (kThreads * kWord);
    const std::int64_t last = min(at[i] + kWord, a.end) - 1;
    std::uint32_t number = block_of(a.list.ranks, static_cast<std::uint32_t>(last / kWord));
    // The bits tell which block begins last in the aligned word that holds the last byte.
    if (a.list.blocks[number].position > last) --number;
    const GatherBlock block = a.list.blocks[number];
    const GatherBlock before = a.list.blocks[number == 0 ? 0 : number - 1];
    cut[i] = static_cast<int>(max(block.position - at[i], std::int64_t{0}));
    back[i] = a.strided + block.delta + at[i];
    front[i] = a.strided + before.delta + at[i];
  }
  wait_for_work_before();
  Pair fronts[PerThread];
  Pair backs[PerThread];
#pragma unroll
  for (int i = 0; i < PerThread; ++i) {
    const int low = static_cast<int>(max(a.begin - at[i], std::int64_t{0}));
    const int high = static_cast<int>(min(a.end - at[i], std::int64_t{kWord}));
    backs[i] = load_pair(back[i], max(cut[i], low), high);
    fronts[i] = load_pair(front[i], low, min(cut[i], high));
  }
#pragma unroll
  for (int i = 0; i < PerThread; ++i) {
    const int low = static_cast<int>(max(a.begin - at[i], std::int64_t{0}));
    const int high = static_cast<int>(min(a.end - at[i], std::int64_t{kWord}));
    const std::uint64_t mask = (std::uint64_t{1} << (8 * cut[i])) - 1;
    const std::uint64_t word =
        (shifted(fronts[i], front[i]) & mask) | (shifted(backs[i], back[i]) & ~mask);
    store_part(a.dense + at[i], word, low, high);
  }
  raise_signal(signal);
}

struct ScatterArguments {
  ScatterView list;
  const std::byte* dense;
  std::byte* strided;
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t first_word;
  std::uint32_t end_word;
  bool prefetch;
};

/// Bytes [low, high) of the word at `to` come from the same bytes of the unaligned word at `from`.
struct Piece {
  std::byte* to;
  const std::byte* from;
  int low;
  int high;
};

__device__ __forceinline__ Piece piece_of(const ScatterArguments& a, std::uint32_t word) {
  const std::uint32_t number = block_of(a.list.ranks, word);
  const auto packed = reinterpret_cast<const uint4*>(a.list.blocks)[number];
  const ScatterBlock block{static_cast<std::int32_t>(packed.x), packed.y, packed.z, packed.w};
  std::byte* const target = a.strided + block.offset;
  // Where the word begins within the block, and the block's bytes that the run covers.
  const int at = static_cast<int>((word - block.first_word) * kWord) - skew_of(target);
  const int begin = static_cast<int>(a.begin > block.position ? a.begin - block.position : 0);
  const int end = static_cast<int>(min(block.bytes, a.end - block.position));
  return {target + at, a.dense + block.position + at, max(begin - at, 0), min(end - at, kWord)};
}

template <int PerThread>
__global__ void __launch_bounds__(kThreads)
    scatter_kernel(const __grid_constant__ ScatterArguments a,
                   const __grid_constant__ Signal signal) {
  const std::uint32_t first = a.first_word + blockIdx.x * (PerThread * kThreads) + threadIdx.x;
  Piece pieces[PerThread];
  Pair pairs[PerThread];
#pragma unroll
  for (int i = 0; i < PerThread; ++i) {
    const std::uint32_t word = first + i * kThreads;
    pieces[i] = piece_of(a, min(word, a.end_word - 1));
    if (word >= a.end_word) pieces[i].high = 0;
    if (a.prefetch && pieces[i].low < pieces[i].high) prefetch_line(pieces[i].to + pieces[i].low);
  }
  wait_for_work_before();
#pragma unroll
  for (int i = 0; i < PerThread; ++i) {
    pairs[i] = load_pair(pieces[i].from, pieces[i].low, pieces[i].high);
  }
#pragma unroll
  for (int i = 0; i < PerThread; ++i) {
    const Piece& piece = pieces[i];
    store_part(piece.to, shifted(pairs[i], piece.from), piece.low, piece.high);
  }
  raise_signal(signal);
}

}  // namespace

cudaError_t launch_gather(const GatherLaunch& launch, Shape shape, const Signal& signal,
                          const Stream& stream) {
  const auto address = reinterpret_cast<std::uintptr_t>(launch.dense + launch.begin);
  const std::int64_t first = launch.begin - static_cast<std::int64_t>(address & (kWord - 1));
  const GatherArguments arguments{launch.list, launch.dense, launch.strided,
                                  first,       launch.begin, launch.end};
  const std::int64_t words = (launch.end - first + kWord - 1) / kWord;
  return shape.words_per_thread > 1
             ? start_kernel(gather_kernel<2>, blocks_for(words, 2), stream, arguments, signal)
             : start_kernel(gather_kernel<1>, blocks_for(words, 1), stream, arguments, signal);
}

cudaError_t launch_scatter(const ScatterLaunch& launch, Shape shape, const Signal& signal,
                           const Stream& stream) {
  const ScatterArguments arguments{launch.list,
                                   launch.dense,
                                   launch.strided,
                                   static_cast<std::uint32_t>(launch.begin),
                                   static_cast<std::uint32_t>(launch.end),
                                   launch.first_word,
                                   launch.end_word,
                                   launch.prefetch};
  const std::int64_t words = launch.end_word - launch.first_word;
  return shape.words_per_thread > 1
             ? start_kernel(scatter_kernel<2>, blocks_for(words, 2), stream, arguments, signal)
             : start_kernel(scatter_kernel<1>, blocks_for(words, 1), stream, arguments, signal);
}

}  // namespace strake::cuda
