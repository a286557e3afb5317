// Kernels of single words: how much memory fetches for one, how long one takes, what an atomic and
// a flag cost.
#include <algorithm>

#include "measure/cuda/kernels.hpp"

namespace strake::measure::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kUnroll = 4;
// 2048 threads for each of 132 multiprocessors and more; each thread goes on by the grid's size.
constexpr std::int64_t kMostBlocks = 2048;

int blocks_for(std::int64_t items) { return static_cast<int>((items + kThreads - 1) / kThreads); }

__device__ std::uint64_t now_ns() {
  std::uint64_t ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

// The load is kept by two stages, as in the kernel that reads everything; and by the loop, for a
// use under a condition that is not repeated takes its load along.
__global__ void read_words_kernel(const std::byte* __restrict__ from, std::int64_t words,
                                  std::int64_t pitch, unsigned* sink) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  unsigned sum = 0;
  std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  const auto use = [&](unsigned value) {
    asm volatile("" ::"r"(value) : "memory");
    if (sink != nullptr) sum ^= value;
  };
  const auto load = [&](std::int64_t word) {
    return *reinterpret_cast<const unsigned*>(from + word * pitch);
  };
  for (; i + (kUnroll - 1) * step < words; i += kUnroll * step) {
    unsigned values[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) values[u] = load(i + u * step);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) use(values[u]);
  }
  for (; i < words; i += step) use(load(i));
  if (sink != nullptr) atomicXor(sink, sum);
}

__global__ void write_words_kernel(std::byte* to, std::int64_t words, std::int64_t pitch,
                                   unsigned value) {
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i < words) *reinterpret_cast<unsigned*>(to + i * pitch) = value;
}

__global__ void chase_kernel(const std::uint64_t* ring, std::int64_t steps, std::uint64_t* at) {
  std::uint64_t here = *at;
  // Volatile: each step goes to the memory, not to this multiprocessor's cache.
  for (std::int64_t i = 0; i < steps; ++i)
    here = static_cast<const volatile std::uint64_t*>(ring)[here];
  *at = here;
}

__global__ void atomics_kernel(std::byte* counters_at, int counters, int pitch,
                               std::int64_t repeats, unsigned* sink) {
  const int me = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  auto* const counter =
      reinterpret_cast<unsigned*>(counters_at + std::int64_t{me % counters} * pitch);
  unsigned seen = 0;
  for (std::int64_t i = 0; i < repeats; ++i) {
    // The answer takes part in the next: (seen >> 31) is 0, which the compiler can't know.
    seen = atomicAdd_system(counter, 1 + (seen >> 31));
  }
  if (sink != nullptr) *sink = seen;
}

__global__ void flags_kernel(Flags flags, std::uint32_t first, std::uint32_t rounds,
                             std::uint64_t timeout_ns) {
  const std::uint64_t begin = now_ns();
  for (std::uint32_t i = 0; i < rounds; ++i) {
    const std::uint32_t wanted = 2 * i + first;
    while (*flags.own != wanted) {
      if (now_ns() - begin > timeout_ns) {
        *flags.failed = 1;
        return;
      }
    }
    *flags.other = wanted + 1;
    __threadfence_system();
  }
}

}  // namespace

cudaError_t launch_read_words(const void* from, std::int64_t bytes, std::int64_t pitch,
                              unsigned* sink, cudaStream_t stream) {
  const std::int64_t words = bytes / pitch;
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(blocks_for(words), kMostBlocks));
  read_words_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<const std::byte*>(from), words,
                                                     pitch, sink);
  return cudaGetLastError();
}

cudaError_t launch_write_words(void* to, std::int64_t bytes, std::int64_t pitch, unsigned value,
                               cudaStream_t stream) {
  const std::int64_t words = bytes / pitch;
  write_words_kernel<<<blocks_for(words), kThreads, 0, stream>>>(static_cast<std::byte*>(to), words,
                                                                 pitch, value);
  return cudaGetLastError();
}

cudaError_t launch_chase(const std::uint64_t* ring, std::int64_t steps, std::uint64_t* at,
                         cudaStream_t stream) {
  chase_kernel<<<1, 1, 0, stream>>>(ring, steps, at);
  return cudaGetLastError();
}

cudaError_t launch_atomics(std::byte* counters_at, int counters, int pitch, std::int64_t repeats,
                           int blocks, int threads, unsigned* sink, cudaStream_t stream) {
  atomics_kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, stream>>>(
      counters_at, counters, pitch, repeats, sink);
  return cudaGetLastError();
}

cudaError_t launch_flags(Flags flags, std::uint32_t first, std::uint32_t rounds,
                         std::uint64_t timeout_ns, cudaStream_t stream) {
  flags_kernel<<<1, 1, 0, stream>>>(flags, first, rounds, timeout_ns);
  return cudaGetLastError();
}

}  // namespace strake::measure::cuda
