// Kernels that read, write and copy at the rate of the memory or of the link.
#include "measure/cuda/kernels.hpp"
#include "measure/cuda/pattern.cuh"

namespace strake::measure::cuda {
namespace {

constexpr int kThreads = 512;
// 2048 threads, what a multiprocessor holds (some hold a few less, and then one waits).
constexpr int kBlocksAtOnce = 4;
// Registers are given out so that all of them fit; the smallest devices hold 1024 threads.
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000)
constexpr int kBlocksKept = kBlocksAtOnce;
#else
constexpr int kBlocksKept = 2;
#endif
// Loads of a thread in flight before the first is used: links need some 100 KB in flight.
constexpr int kUnroll = 4;

using Word = uint4;  // the widest access there is on all devices

/// First stage: the compiler must believe that the value is used. Adds no instruction.
__device__ void keep(const Word& value) {
  asm volatile("" ::"r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w) : "memory");
}

/// Second stage: the assembler, which sees that nothing used the value, must believe that it may be
/// stored. `sink` is null when it is timed.
__global__ void __launch_bounds__(kThreads, kBlocksKept)
    read_kernel(const Word* __restrict__ from, std::int64_t words, std::uint64_t* sink) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  std::uint64_t sum = 0;
  const auto use = [&](const Word& value) {
    keep(value);
    if (sink != nullptr) {
      sum ^= (value.x | std::uint64_t{value.y} << 32) ^ (value.z | std::uint64_t{value.w} << 32);
    }
  };
  for (; i + (kUnroll - 1) * step < words; i += kUnroll * step) {
    Word values[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) values[u] = from[i + u * step];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) use(values[u]);
  }
  for (; i < words; i += step) use(from[i]);
  if (sink != nullptr) {
    atomicXor(reinterpret_cast<unsigned long long*>(sink), static_cast<unsigned long long>(sum));
  }
}

/// One word of 16 bytes per item: the pattern's words 2 i and 2 i + 1.
__global__ void __launch_bounds__(kThreads, kBlocksKept)
    write_kernel(Word* to, std::int64_t words, std::uint64_t seed) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < words; i += step) {
    const std::uint64_t low = mixed_word(seed, static_cast<std::uint64_t>(2 * i));
    const std::uint64_t high = mixed_word(seed, static_cast<std::uint64_t>(2 * i + 1));
    to[i] = make_uint4(static_cast<unsigned>(low), static_cast<unsigned>(low >> 32),
                       static_cast<unsigned>(high), static_cast<unsigned>(high >> 32));
  }
}

__global__ void __launch_bounds__(kThreads, kBlocksKept)
    copy_kernel(Word* __restrict__ to, const Word* __restrict__ from, std::int64_t words) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  for (; i + (kUnroll - 1) * step < words; i += kUnroll * step) {
    Word values[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) values[u] = from[i + u * step];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) to[i + u * step] = values[u];
  }
  for (; i < words; i += step) to[i] = from[i];
}

__global__ void touch_kernel(std::byte* data, std::int64_t pages, std::int64_t page) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i < pages) *reinterpret_cast<unsigned*>(data + i * page) += 1;
}

/// As many blocks as run at once, fewer where there is less to do.
int blocks_for(std::int64_t words, int parts) {
  int device = 0;
  int multiprocessors = 1;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) !=
          cudaSuccess) {
    return 1;
  }
  const std::int64_t most = std::int64_t{multiprocessors} * kBlocksAtOnce / parts;
  const std::int64_t needed = (words + kThreads - 1) / kThreads;
  return static_cast<int>(needed < 1 ? 1 : needed > most ? most : needed);
}

}  // namespace

cudaError_t launch_read(const void* from, std::int64_t bytes, std::uint64_t* sink, int parts,
                        cudaStream_t stream) {
  const std::int64_t words = bytes / 16;
  read_kernel<<<blocks_for(words, parts), kThreads, 0, stream>>>(static_cast<const Word*>(from),
                                                                 words, sink);
  return cudaGetLastError();
}

cudaError_t launch_write(void* to, std::int64_t bytes, std::uint64_t seed, int parts,
                         cudaStream_t stream) {
  const std::int64_t words = bytes / 16;
  write_kernel<<<blocks_for(words, parts), kThreads, 0, stream>>>(static_cast<Word*>(to), words,
                                                                  seed);
  return cudaGetLastError();
}

cudaError_t launch_copy(void* to, const void* from, std::int64_t bytes, int parts,
                        cudaStream_t stream) {
  const std::int64_t words = bytes / 16;
  copy_kernel<<<blocks_for(words, parts), kThreads, 0, stream>>>(
      static_cast<Word*>(to), static_cast<const Word*>(from), words);
  return cudaGetLastError();
}

cudaError_t launch_touch(std::byte* data, std::int64_t bytes, std::int64_t page,
                         cudaStream_t stream) {
  const std::int64_t pages = bytes / page;
  touch_kernel<<<static_cast<unsigned>((pages + 255) / 256), 256, 0, stream>>>(data, pages, page);
  return cudaGetLastError();
}

}  // namespace strake::measure::cuda
