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
};

template <int Log2, int Dims, Direction Way>
__global__ void __launch_bounds__(kThreads) box_kernel(const __grid_constant__ BoxArguments<Dims> a,
                                                       const __grid_constant__ Signal signal) {
  const std::int64_t first = a.first + static_cast<std::int64_t>(blockIdx.x) * kThreads;
  const auto dense = [&](std::int64_t word) { return a.dense + (word << Log2); };
  const auto strided = [&](std::int64_t word) {
    return a.strided + strake_box32_offset(&a.block, a.count, a.stride_bytes, Dims, Log2,
                                           static_cast<std::uint32_t>(word));
  };
  if constexpr (Way == Direction::Pack) {
    move_tile<Log2, 1>(first, a.end, strided, dense);
  } else {
    move_tile<Log2, 1>(first, a.end, dense, strided);
  }
  raise_signal(signal);
}

template <int Log2, int Dims>
void start_box(const BoxLaunch& launch, const Signal& signal, cudaStream_t stream) {
  BoxArguments<Dims> arguments{};
  arguments.first = launch.first;
  arguments.end = launch.first + launch.count;
  arguments.block = launch.box.block;
  for (int i = 0; i + 1 < Dims; ++i) arguments.count[i] = launch.box.count[i];
  for (int i = 0; i < Dims; ++i) arguments.stride_bytes[i] = launch.box.stride_bytes[i];
  arguments.strided = launch.strided;
  arguments.dense = launch.dense;
  const unsigned blocks = (launch.count + kThreads - 1) / kThreads;
  if (launch.direction == Direction::Pack) {
    box_kernel<Log2, Dims, Direction::Pack><<<blocks, kThreads, 0, stream>>>(arguments, signal);
  } else {
    box_kernel<Log2, Dims, Direction::Unpack><<<blocks, kThreads, 0, stream>>>(arguments, signal);
  }
}

}  // namespace

cudaError_t launch_box(const BoxLaunch& launch, const Signal& signal, cudaStream_t stream) {
  with_word(launch.word_log2, [&]<int Log2>() {
    if (launch.dims == 1) {
      start_box<Log2, 1>(launch, signal, stream);
    } else if (launch.dims == 2) {
      start_box<Log2, 2>(launch, signal, stream);
    } else {
      // Dims 3 and 4 share a kernel: one more division costs less than ten more kernels.
      start_box<Log2, STRAKE_BOX_DIMS>(launch, signal, stream);
    }
  });
  return cudaGetLastError();
}

}  // namespace strake::cuda
