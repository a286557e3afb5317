/// \file  Dense <-> box: one thread per word, its offset by multiply-shift. More words a thread
/// were tried (2, 4, 8; blocks of 128 to 1024 threads): one was fastest or within 1 % everywhere on
/// an H200, and unpacking lost 5 to 10 % by four.
#include <array>
#include <utility>

#include "copy/cuda/device_code.cuh"

namespace strake::cuda {
namespace {

struct BoxArguments {
  strake_box32 box;
  std::byte* dense;
  std::byte* strided;
  std::uint32_t first;
  std::uint32_t end;
};

template <int Log2, int Dims, Direction Way>
__global__ void __launch_bounds__(kThreads)
    box_kernel(const __grid_constant__ BoxArguments a, const __grid_constant__ Signal signal) {
  const std::int64_t first = a.first + static_cast<std::int64_t>(blockIdx.x) * kThreads;
  const auto dense = [&](std::int64_t word) { return a.dense + (word << Log2); };
  const auto strided = [&](std::int64_t word) {
    return a.strided + strake_box32_offset(&a.box, Dims, Log2, static_cast<std::uint32_t>(word));
  };
  if constexpr (Way == Direction::Pack) {
    move_tile<Log2, 1>(first, a.end, strided, dense);
  } else {
    move_tile<Log2, 1>(first, a.end, dense, strided);
  }
  raise_signal(signal);
}

using Kernel = void (*)(BoxArguments, Signal);

// Dims 3 and 4 share a kernel: one more division of a count of 1 costs less than 20 more kernels.
constexpr int kDimForms = 3;
constexpr int dims_of_form(int form) { return form == 2 ? STRAKE_BOX_DIMS : form + 1; }

template <int Log2, int Form>
constexpr std::array<Kernel, 2> kernels_of() {
  return {box_kernel<Log2, dims_of_form(Form), Direction::Pack>,
          box_kernel<Log2, dims_of_form(Form), Direction::Unpack>};
}

template <int... Index>
constexpr auto all_kernels(std::integer_sequence<int, Index...>) {
  return std::array{kernels_of<Index / kDimForms, Index % kDimForms>()...};
}
// Indexed by word, then form of dims, then direction.
constexpr auto kKernels = all_kernels(std::make_integer_sequence<int, 5 * kDimForms>{});

}  // namespace

cudaError_t launch_box(const BoxLaunch& launch, const Signal& signal, cudaStream_t stream) {
  const int form = launch.dims > 2 ? 2 : launch.dims - 1;
  const int way = launch.direction == Direction::Unpack ? 1 : 0;
  const Kernel kernel = kKernels[launch.word_log2 * kDimForms + form][way];
  const BoxArguments arguments{launch.box, launch.dense, launch.strided, launch.first,
                               launch.first + launch.count};
  kernel<<<(launch.count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(arguments, signal);
  return cudaGetLastError();
}

}  // namespace strake::cuda
