/// \file  Dense <-> lists of equal blocks: each thread finds its word's block by one division.
#include "copy/cuda/device_code.cuh"

namespace strake::cuda {
namespace {

struct BlocksArguments {
  Side side;
  std::byte* dense;
  std::byte* strided;
  std::int64_t first;
  std::int64_t end;
};

template <int Log2, Task Way, int PerThread>
__global__ void __launch_bounds__(kThreads) blocks_kernel(const __grid_constant__ BlocksArguments a,
                                                          const __grid_constant__ Signal signal) {
  const std::int64_t first =
      a.first + static_cast<std::int64_t>(blockIdx.x) * (PerThread * kThreads);
  const auto dense = [&](std::int64_t word) { return a.dense + (word << Log2); };
  const auto strided = [&](std::int64_t word) {
    return a.strided + strake_in_blocks(&a.side.root, a.side.tree, word << Log2).offset;
  };
  if constexpr (Way == Task::Pack) {
    move_tile<Log2, PerThread>(first, a.end, false, strided, dense);
  } else {
    move_tile<Log2, PerThread>(first, a.end, false, dense, strided);
  }
  raise_signal(signal);
}

template <int Log2, Task Way>
cudaError_t start_blocks(const BlocksArguments& a, bool wide, const Signal& signal,
                         const LaunchTarget& target) {
  const std::int64_t words = a.end - a.first;
  return wide ? start_kernel(blocks_kernel<Log2, Way, 4>, blocks_for(words, 4), target, a, signal)
              : start_kernel(blocks_kernel<Log2, Way, 1>, blocks_for(words, 1), target, a, signal);
}

}  // namespace

cudaError_t launch_blocks(const BlocksLaunch& launch, Unroll unroll, const Signal& signal,
                          const LaunchTarget& target) {
  const BlocksArguments arguments{launch.side, launch.dense,
                                  launch.strided + launch.side.root.offset,
                                  launch.begin >> launch.word_log2, launch.end >> launch.word_log2};
  const bool wide = unroll.words_per_thread > 1;
  return with_word(launch.word_log2, [&]<int Log2>() {
    return launch.task == Task::Pack
               ? start_blocks<Log2, Task::Pack>(arguments, wide, signal, target)
               : start_blocks<Log2, Task::Unpack>(arguments, wide, signal, target);
  });
}

}  // namespace strake::cuda
