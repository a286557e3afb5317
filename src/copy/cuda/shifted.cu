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

/// Two aligned words in a row.
struct Pair {
  uint2 lower;
  uint2 upper;
};
/// The word `skew` bytes into them.
__device__ __forceinline__ uint2 shifted(const Pair& pair, int skew) {
  const bool half = (skew & 4) != 0;
  const std::uint32_t middle = half ? pair.upper.x : pair.lower.y;
  const int bits = 8 * (skew & 3);
  return {__funnelshift_r(half ? pair.lower.y : pair.lower.x, middle, bits),
          __funnelshift_r(middle, half ? pair.upper.y : pair.upper.x, bits)};
}

/// The aligned words that hold bytes [low, high) of the word at `from`; others are not read.
__device__ __forceinline__ Pair load_pair(const std::byte* from, int low, int high) {
  const int skew = skew_of(from);
  const int split = kWord - skew;  // the first byte in the upper word
  Pair pair{};
  if (low < min(high, split)) pair.lower = load_word<3>(from - skew);
  if (max(low, split) < high) pair.upper = load_word<3>(from + split);
  return pair;
}

/// Byte `at` of a word and those after it.
__device__ __forceinline__ std::uint32_t bytes_from(uint2 word, int at) {
  return ((at & 4) != 0 ? word.y : word.x) >> (8 * (at & 3));
}

/// Stores bytes [low, high) of a word: the longest aligned parts where only one end is cut.
__device__ __forceinline__ void store_part(std::byte* to, uint2 word, int low, int high) {
  const int count = high - low;
  if (count == kWord) {
    store_word<3>(to, word);
  } else if (low == 0 || high == kWord) {
    if (count <= 0) return;
    // Pieces of 4, 2 and 1 bytes, from the whole end on.
    const bool up = low == 0;
    const int four = up ? 0 : 4;
    const int two = up ? count & 4 : 6 - (count & 4);
    const int one = up ? count & 6 : 7 - (count & 6);
    if ((count & 4) != 0) store_word<2>(to + four, up ? word.x : word.y);
    if ((count & 2) != 0)
      store_word<1>(to + two, static_cast<std::uint16_t>(bytes_from(word, two)));
    if ((count & 1) != 0) store_word<0>(to + one, static_cast<std::uint8_t>(bytes_from(word, one)));
  } else {
    for (int at = low; at < high; ++at) {
      store_word<0>(to + at, static_cast<std::uint8_t>(bytes_from(word, at)));
    }
  }
}

struct GatherArguments {
  GatherView list;
  std::byte* dense;
  const std::byte* strided;
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t first;  // whole words of the dense run: of packed bytes [first, first + 8 words)
  std::uint32_t words;
};

/// The block that holds a packed byte.
__device__ __forceinline__ std::uint32_t block_at(const GatherView& list, std::uint32_t byte) {
  const std::uint32_t number = strake_block_of(list.ranks, byte / kWord);
  // The bits tell which block begins last in the byte's word.
  return list.blocks[number].position > byte ? number - 1 : number;
}

/// The bytes before and after the whole words, less than a word each.
__device__ __forceinline__ void gather_ends(const GatherArguments& a) {
  const bool head = threadIdx.x < kWord;
  const std::uint32_t byte = (head ? a.begin : a.first + a.words * kWord) + threadIdx.x % kWord;
  if (byte >= (head ? a.first : a.end)) return;
  const std::int64_t delta = a.list.blocks[block_at(a.list, byte)].delta;
  a.dense[byte] = a.strided[delta + byte];
}

/// Bits of `in` where `mask` is set, of `out` elsewhere.
__device__ __forceinline__ std::uint32_t select(std::uint32_t mask, std::uint32_t in,
                                                std::uint32_t out) {
  return (in & mask) | (out & ~mask);
}

template <int PerThread>
__global__ void __launch_bounds__(kThreads) gather_kernel(const __grid_constant__ GatherArguments a,
                                                          const __grid_constant__ Signal signal) {
  const std::uint32_t index = blockIdx.x * (PerThread * kThreads) + threadIdx.x;
  std::uint32_t at[PerThread];
  std::int32_t delta[PerThread];
  std::int32_t before[PerThread];  // the delta of the block before the last one
  std::int32_t cut[PerThread];     // bytes that it gives: none or less if not positive
#pragma unroll
  for (int i = 0; i < PerThread; ++i) {
    at[i] = a.first + min(index + i * kThreads, a.words - 1) * kWord;
    const std::uint32_t last = at[i] + kWord - 1;
    std::uint32_t number = strake_block_of(a.list.ranks, last / kWord);
    // Not by block_at(): what may be needed is fetched at once, not one after the other.
    const GatherBlock* const block = a.list.blocks + number;
    GatherBlock found = *block;
    before[i] = block[number == 0 ? 0 : -1].delta;
    // The bits tell which block begins last in the aligned word that holds the last byte.
    if (found.position > last) {
      found = block[-1];
      before[i] = block[number == 1 ? -1 : -2].delta;
    }
    delta[i] = found.delta;
    cut[i] = static_cast<std::int32_t>(found.position - at[i]);
  }
  wait_for_work_before();
  Pair backs[PerThread];
  Pair fronts[PerThread];
#pragma unroll
  for (int i = 0; i < PerThread; ++i) {
    backs[i] = load_pair(a.strided + delta[i] + at[i], max(cut[i], 0), kWord);
    fronts[i] = load_pair(a.strided + before[i] + at[i], 0, cut[i]);
  }
  const int base = skew_of(a.strided);
#pragma unroll
  for (int i = 0; i < PerThread; ++i) {
    const int place = base + static_cast<int>(at[i] % kWord);
    uint2 word = shifted(backs[i], (place + delta[i]) & (kWord - 1));
    if (cut[i] > 0) {
      const uint2 front = shifted(fronts[i], (place + before[i]) & (kWord - 1));
      const std::uint64_t mask = (std::uint64_t{1} << (8 * cut[i])) - 1;
      word.x = select(static_cast<std::uint32_t>(mask), front.x, word.x);
      word.y = select(static_cast<std::uint32_t>(mask >> 32), front.y, word.y);
    }
    if (index + i * kThreads < a.words) store_word<3>(a.dense + at[i], word);
  }
  if (blockIdx.x == 0 && threadIdx.x < 2 * kWord) gather_ends(a);
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
struct WordPart {
  std::byte* to;
  const std::byte* from;
  int low;
  int high;
};

__device__ __forceinline__ WordPart word_part_of(const ScatterArguments& a, std::uint32_t word) {
  const std::uint32_t number = strake_block_of(a.list.ranks, word);
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
  WordPart parts[PerThread];
  Pair pairs[PerThread];
#pragma unroll
  for (int i = 0; i < PerThread; ++i) {
    const std::uint32_t word = first + i * kThreads;
    parts[i] = word_part_of(a, min(word, a.end_word - 1));
    if (word >= a.end_word) parts[i].high = 0;
    if (a.prefetch && parts[i].low < parts[i].high) prefetch_line(parts[i].to + parts[i].low);
  }
  wait_for_work_before();
#pragma unroll
  for (int i = 0; i < PerThread; ++i) {
    pairs[i] = load_pair(parts[i].from, parts[i].low, parts[i].high);
  }
#pragma unroll
  for (int i = 0; i < PerThread; ++i) {
    const WordPart& part = parts[i];
    store_part(part.to, shifted(pairs[i], skew_of(part.from)), part.low, part.high);
  }
  raise_signal(signal);
}

}  // namespace

cudaError_t launch_gather(const GatherLaunch& launch, Unroll unroll, const Signal& signal,
                          const LaunchTarget& target) {
  const auto address = reinterpret_cast<std::uintptr_t>(launch.dense + launch.begin);
  const std::int64_t first = launch.begin + static_cast<std::int64_t>(-address & (kWord - 1));
  const std::int64_t words = (launch.end - first) / kWord;
  const GatherArguments arguments{launch.list,
                                  launch.dense,
                                  launch.strided,
                                  static_cast<std::uint32_t>(launch.begin),
                                  static_cast<std::uint32_t>(launch.end),
                                  static_cast<std::uint32_t>(first),
                                  static_cast<std::uint32_t>(words)};
  // Three words a thread are the fastest of two to four (H200).
  return unroll.words_per_thread > 1
             ? start_kernel(gather_kernel<3>, blocks_for(words, 3), target, arguments, signal)
             : start_kernel(gather_kernel<1>, blocks_for(words, 1), target, arguments, signal);
}

cudaError_t launch_scatter(const ScatterLaunch& launch, Unroll unroll, const Signal& signal,
                           const LaunchTarget& target) {
  const ScatterArguments arguments{launch.list,
                                   launch.dense,
                                   launch.strided,
                                   static_cast<std::uint32_t>(launch.begin),
                                   static_cast<std::uint32_t>(launch.end),
                                   launch.first_word,
                                   launch.end_word,
                                   launch.prefetch};
  const std::int64_t words = launch.end_word - launch.first_word;
  return unroll.words_per_thread > 1
             ? start_kernel(scatter_kernel<2>, blocks_for(words, 2), target, arguments, signal)
             : start_kernel(scatter_kernel<1>, blocks_for(words, 1), target, arguments, signal);
}

}  // namespace strake::cuda
