/// \file  Dense <-> box: one thread per word, its offset by multiply-shift. More words a thread
/// were tried (2, 4, 8; blocks of 128 to 1024 threads): one was fastest or within 1 % everywhere on
/// an H200, and unpacking lost 5 to 10 % by four.
#include "copy/cuda/device_code.cuh"

namespace strake::cuda {
namespace {

/// Only what a kernel of these dims reads: every multiprocessor fetches the parameters anew at
/// every launch.
template <int Dims>
struct BoxArguments {
  std::uint32_t first;
  std::uint32_t end;
  strake_div32 block;
  strake_div32 count[Dims > 1 ? Dims - 1 : 1];
  strake_i64 stride_bytes[Dims];
  std::byte* strided;
  std::byte* dense;
  bool prefetch;
};

template <int Log2, int Dims, Task Way>
__global__ void __launch_bounds__(kThreads) box_kernel(const __grid_constant__ BoxArguments<Dims> a,
                                                       const __grid_constant__ Signal signal) {
  const std::int64_t first = a.first + static_cast<std::int64_t>(blockIdx.x) * kThreads;
  const auto dense = [&](std::int64_t word) { return a.dense + (word << Log2); };
  const auto strided = [&](std::int64_t word) {
    return a.strided + strake_box32_offset(&a.block, a.count, a.stride_bytes, Dims, Log2,
                                           static_cast<std::uint32_t>(word));
  };
  if constexpr (Way == Task::Pack) {
    move_tile<Log2, 1>(first, std::int64_t{a.end}, false, strided, dense);
  } else {
    move_tile<Log2, 1>(first, std::int64_t{a.end}, a.prefetch, dense, strided);
  }
  raise_signal(signal);
}

template <int Log2, int Dims>
cudaError_t start_box(const BoxLaunch& launch, const Signal& signal, const LaunchTarget& target) {
  BoxArguments<Dims> arguments{};
  arguments.first = launch.first;
  arguments.end = launch.first + launch.count;
  arguments.block = launch.box.block;
  for (int i = 0; i + 1 < Dims; ++i) arguments.count[i] = launch.box.count[i];
  for (int i = 0; i < Dims; ++i) arguments.stride_bytes[i] = launch.box.stride_bytes[i];
  arguments.strided = launch.strided;
  arguments.dense = launch.dense;
  arguments.prefetch = launch.prefetch;
  return start_kernel(launch.task == Task::Pack ? box_kernel<Log2, Dims, Task::Pack>
                                                : box_kernel<Log2, Dims, Task::Unpack>,
                      blocks_for(launch.count, 1), target, arguments, signal);
}

}  // namespace

cudaError_t launch_box(const BoxLaunch& launch, const Signal& signal, const LaunchTarget& target) {
  return with_word(launch.word_log2, [&]<int Log2>() {
    if (launch.dims == 1) return start_box<Log2, 1>(launch, signal, target);
    if (launch.dims == 2) return start_box<Log2, 2>(launch, signal, target);
    // Dims 3 and 4 share a kernel: one more division costs less than ten more kernels.
    return start_box<Log2, STRAKE_BOX_DIMS>(launch, signal, target);
  });
}

}  // namespace strake::cuda
