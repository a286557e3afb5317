// Kernels that only take time or parameters, and the one that fills the multiprocessors.
#include "measure/cuda/kernels.hpp"

namespace strake::measure::cuda {
namespace {

__device__ std::uint64_t now_ns() {
  std::uint64_t ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void hold_kernel(const volatile std::uint32_t* gate, std::uint64_t timeout_ns) {
  const std::uint64_t begin = now_ns();
  while (*gate == 0 && now_ns() - begin < timeout_ns) {
  }
}

template <int kBytes>
struct Parameters {
  char bytes[kBytes];
};

__global__ void nothing_kernel() {}
template <int kBytes>
__global__ void nothing_kernel(Parameters<kBytes>) {}

__global__ void add_kernel(float* c, const float* a, const float* b, std::int64_t count) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i < count) c[i] = a[i] + b[i];
}

}  // namespace

cudaError_t launch_hold(const volatile std::uint32_t* gate, std::uint64_t timeout_ns,
                        cudaStream_t stream) {
  hold_kernel<<<1, 1, 0, stream>>>(gate, timeout_ns);
  return cudaGetLastError();
}

cudaError_t launch_nothing(int parameter_bytes, cudaStream_t stream) {
  switch (parameter_bytes) {
    case 0:
      nothing_kernel<<<1, 1, 0, stream>>>();
      break;
    case 1:
      nothing_kernel<<<1, 1, 0, stream>>>(Parameters<1>{});
      break;
    case 256:
      nothing_kernel<<<1, 1, 0, stream>>>(Parameters<256>{});
      break;
    case 4096: {
      static const Parameters<4096> parameters{};
      nothing_kernel<<<1, 1, 0, stream>>>(parameters);
      break;
    }
    default:
      return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}

cudaError_t launch_add(float* c, const float* a, const float* b, std::int64_t count,
                       cudaStream_t stream) {
  constexpr int kThreads = 256;
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  add_kernel<<<blocks, kThreads, 0, stream>>>(c, a, b, count);
  return cudaGetLastError();
}

}  // namespace strake::measure::cuda
