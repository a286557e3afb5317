#include "kernels.hpp"

namespace bench {
namespace {

constexpr unsigned kThreads = 256;

__device__ void raise(const Done& done) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (gridDim.x > 1) {
    __threadfence();
    if (atomicAdd(done.arrivals, 1U) != gridDim.x - 1) return;
    *done.arrivals = 0;
  }
  __threadfence_system();
  *done.flag = done.value;
}

__global__ void nothing_kernel(Done done) { *done.flag = done.value; }

/// One word a thread; neighbours move neighbouring words of the dense side.
template <typename Word, bool Pack>
__global__ void __launch_bounds__(kThreads)
    object_kernel(std::byte* dense, std::byte* strided, std::int64_t words, unsigned shift,
                  std::int64_t pitch_bytes, Done done) {
  const std::int64_t word = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (word < words) {
    const std::int64_t block = word >> shift;
    const std::int64_t rest = word & ((std::int64_t{1} << shift) - 1);
    Word* const a = reinterpret_cast<Word*>(dense) + word;
    Word* const b = reinterpret_cast<Word*>(strided + block * pitch_bytes) + rest;
    if (Pack) {
      *a = *b;
    } else {
      *b = *a;
    }
  }
  raise(done);
}

template <typename Word, bool Pack>
cudaError_t launch(const Object2d& object, std::byte* dense, std::byte* strided, const Done& done,
                   cudaStream_t stream) {
  const std::int64_t words = object.payload_bytes() / static_cast<std::int64_t>(sizeof(Word));
  unsigned shift = 0;
  while ((static_cast<std::int64_t>(sizeof(Word)) << shift) < object.block_bytes) ++shift;
  const auto grid = static_cast<unsigned>((words + kThreads - 1) / kThreads);
  object_kernel<Word, Pack>
      <<<grid, kThreads, 0, stream>>>(dense, strided, words, shift, object.pitch_bytes, done);
  return cudaGetLastError();
}

template <bool Pack>
cudaError_t launch(const Object2d& object, std::byte* dense, std::byte* strided, const Done& done,
                   cudaStream_t stream) {
  return object.block_bytes % 16 == 0 ? launch<uint4, Pack>(object, dense, strided, done, stream)
                                      : launch<uint2, Pack>(object, dense, strided, done, stream);
}

}  // namespace

cudaError_t launch_nothing(const Done& done, cudaStream_t stream) {
  nothing_kernel<<<1, 1, 0, stream>>>(done);
  return cudaGetLastError();
}

cudaError_t launch_pack(const Object2d& object, std::byte* dense, const std::byte* strided,
                        const Done& done, cudaStream_t stream) {
  return launch<true>(object, dense, const_cast<std::byte*>(strided), done, stream);
}

cudaError_t launch_unpack(const Object2d& object, std::byte* strided, const std::byte* dense,
                          const Done& done, cudaStream_t stream) {
  return launch<false>(object, const_cast<std::byte*>(dense), strided, done, stream);
}

}  // namespace bench
