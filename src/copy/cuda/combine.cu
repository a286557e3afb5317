/// \file  Values of targets combined with those of sources: each warp takes every n-th tile, each
/// lane a word of it, which is one value.
#include "copy/cuda/batch_code.cuh"

namespace strake::cuda {
namespace {

struct Sum {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Min {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Max {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

struct CombineArguments {
  const strake_batch_copy* copies;
  const strake_batch_tile* tiles;
  std::uint32_t tile_count;
  std::int32_t tile_log2;
  const PutCounts* counts;
  std::byte* to;
  const std::byte* from[2];
};

template <typename T, typename Op>
__global__ void __launch_bounds__(kThreads)
    combine_kernel(const __grid_constant__ CombineArguments a) {
  wait_for_work_before();
  const std::byte* const source = a.from[a.counts->round & 1];
  const std::uint32_t lane = threadIdx.x % kWarp;
  for (std::uint32_t number = blockIdx.x * kWarps + threadIdx.x / kWarp; number < a.tile_count;
       number += gridDim.x * kWarps) {
    const strake_batch_tile tile = a.tiles[number];
    const strake_batch_copy& copy = a.copies[tile.copy];
    const std::int64_t first = static_cast<std::int64_t>(tile.index) << a.tile_log2;
    const std::int64_t end = min(copy.words, first + (std::int64_t{1} << a.tile_log2));
    for (std::int64_t word = first + lane; word < end; word += kWarp) {
      auto* const to =
          reinterpret_cast<T*>(a.to + strake_side_offset(&copy.to, copy.word_log2, word));
      const auto* const from =
          reinterpret_cast<const T*>(source + strake_side_offset(&copy.from, copy.word_log2, word));
      *to = Op{}(*to, *from);
    }
  }
}

template <typename T>
auto kernel_of(ValueOp op) {
  switch (op) {
    case ValueOp::Min:
      return combine_kernel<T, Min>;
    case ValueOp::Max:
      return combine_kernel<T, Max>;
    default:
      return combine_kernel<T, Sum>;
  }
}

auto kernel_of(const DeviceCombine& how) {
  switch (how.type) {
    case ValueType::Float32:
      return kernel_of<float>(how.op);
    case ValueType::Int32:
      return kernel_of<std::int32_t>(how.op);
    case ValueType::Int64:
      return kernel_of<std::int64_t>(how.op);
    case ValueType::UInt32:
      return kernel_of<std::uint32_t>(how.op);
    case ValueType::UInt64:
      return kernel_of<std::uint64_t>(how.op);
    default:
      return kernel_of<double>(how.op);
  }
}

}  // namespace

cudaError_t launch_combine(const CombineLaunch& launch, const LaunchTarget& target) {
  const BatchLaunch& batch = *launch.batch;
  const CombineArguments arguments = {batch.copies,
                                      batch.tiles,
                                      batch.tile_count,
                                      batch.tile_log2,
                                      launch.counts,
                                      launch.to,
                                      {launch.from[0], launch.from[1]}};
  const auto blocks = static_cast<unsigned>(blocks_of(batch.tile_count, true, target));
  return start_kernel(kernel_of(launch.how), blocks, target, arguments);
}

}  // namespace strake::cuda
