/// \file  Dense <-> lists of blocks that are whole words: a word's block is found by counting bits.
#include "copy/cuda/device_code.cuh"

namespace strake::cuda {
namespace {

struct RankedArguments {
  RankedView list;
  std::byte* dense;
  std::byte* strided;
  std::uint32_t first;
  std::uint32_t end;
  bool prefetch;
};

template <int Log2, Task Way, int PerThread>
__global__ void __launch_bounds__(kThreads) ranked_kernel(const __grid_constant__ RankedArguments a,
                                                          const __grid_constant__ Signal signal) {
  const std::uint32_t first = a.first + blockIdx.x * (PerThread * kThreads);
  const int narrower = a.list.word_log2 - Log2;
  const auto bytes = [](std::uint32_t word) { return static_cast<std::int64_t>(word) << Log2; };
  const auto dense = [&](std::uint32_t word) { return a.dense + bytes(word); };
  const auto strided = [&](std::uint32_t word) {
    const std::int32_t delta = a.list.deltas[strake_block_of(a.list.ranks, word >> narrower)];
    return a.strided + (static_cast<std::int64_t>(delta) << a.list.word_log2) + bytes(word);
  };
  if constexpr (Way == Task::Pack) {
    move_tile<Log2, PerThread>(first, a.end, false, strided, dense);
  } else {
    move_tile<Log2, PerThread>(first, a.end, a.prefetch, dense, strided);
  }
  raise_signal(signal);
}

template <int Log2, Task Way>
cudaError_t start_ranked(const RankedArguments& a, bool wide, const Signal& signal,
                         const LaunchTarget& target) {
  // 16 bytes a thread hide the loads' latency; twice as many are no faster (H200).
  constexpr int kPerThread = Log2 >= 3 ? 2 : 4;
  const std::uint32_t words = a.end - a.first;
  return wide ? start_kernel(ranked_kernel<Log2, Way, kPerThread>, blocks_for(words, kPerThread),
                             target, a, signal)
              : start_kernel(ranked_kernel<Log2, Way, 1>, blocks_for(words, 1), target, a, signal);
}

}  // namespace

cudaError_t launch_ranked(const RankedLaunch& launch, Unroll unroll, const Signal& signal,
                          const LaunchTarget& target) {
  const RankedArguments arguments{launch.list,
                                  launch.dense,
                                  launch.strided,
                                  static_cast<std::uint32_t>(launch.begin >> launch.word_log2),
                                  static_cast<std::uint32_t>(launch.end >> launch.word_log2),
                                  launch.prefetch};
  const bool wide = unroll.words_per_thread > 1;
  return with_word(launch.word_log2, [&]<int Log2>() {
    return launch.task == Task::Pack
               ? start_ranked<Log2, Task::Pack>(arguments, wide, signal, target)
               : start_ranked<Log2, Task::Unpack>(arguments, wide, signal, target);
  });
}

}  // namespace strake::cuda
