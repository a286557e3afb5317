/// \file  Any layout <-> any layout: each thread finds its word in the tables.
#include "copy/cuda/device_code.cuh"

namespace strake::cuda {
namespace {

struct TreeArguments {
  Side to;
  Side from;
  std::byte* to_base;
  const std::byte* from_base;
  std::int64_t first;
  std::int64_t end;
};

__device__ __forceinline__ std::int64_t offset_in(const Side& side, std::int64_t p) {
  if (side.root.kind == STRAKE_BOX && side.root.count == 0) return side.root.offset + p;
  return strake_locate(&side.root, side.tree, p).offset;
}

template <int Log2, int PerThread>
__global__ void __launch_bounds__(kThreads)
    tree_kernel(const __grid_constant__ TreeArguments a, const __grid_constant__ Signal signal) {
  const std::int64_t first =
      a.first + static_cast<std::int64_t>(blockIdx.x) * (PerThread * kThreads);
  move_tile<Log2, PerThread>(
      first, a.end, false,
      [&](std::int64_t word) { return a.from_base + offset_in(a.from, word << Log2); },
      [&](std::int64_t word) { return a.to_base + offset_in(a.to, word << Log2); });
  raise_signal(signal);
}

}  // namespace

cudaError_t launch_tree(const TreeLaunch& launch, Unroll unroll, const Signal& signal,
                        const LaunchTarget& target) {
  const TreeArguments arguments{launch.to,
                                launch.from,
                                launch.to_base,
                                launch.from_base,
                                launch.begin >> launch.word_log2,
                                launch.end >> launch.word_log2};
  const std::int64_t words = arguments.end - arguments.first;
  return with_word(launch.word_log2, [&]<int Log2>() {
    return unroll.words_per_thread > 1
               ? start_kernel(tree_kernel<Log2, 2>, blocks_for(words, 2), target, arguments, signal)
               : start_kernel(tree_kernel<Log2, 1>, blocks_for(words, 1), target, arguments,
                              signal);
  });
}

}  // namespace strake::cuda
