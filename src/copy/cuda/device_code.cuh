/// \file  Device code that the copy kernels share: words, the start after the work before, and the
/// completion signal.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "copy/cuda/kernels.hpp"

namespace strake::cuda {

/// 8 warps: enough blocks fit a multiprocessor to fill it at up to 32 registers a thread.
inline constexpr int kThreads = 256;

template <int Log2>
struct WordOf;
template <>
struct WordOf<0> {
  using Type = std::uint8_t;
};
template <>
struct WordOf<1> {
  using Type = std::uint16_t;
};
template <>
struct WordOf<2> {
  using Type = std::uint32_t;
};
template <>
struct WordOf<3> {
  using Type = uint2;
};
template <>
struct WordOf<4> {
  using Type = uint4;
};
template <int Log2>
using Word = typename WordOf<Log2>::Type;

template <int Log2>
__device__ __forceinline__ Word<Log2> load_word(const std::byte* address) {
  return *reinterpret_cast<const Word<Log2>*>(address);
}
template <int Log2>
__device__ __forceinline__ void store_word(std::byte* address, Word<Log2> value) {
  *reinterpret_cast<Word<Log2>*>(address) = value;
}

/// From here on the next kernel of the stream may be set up, and take room.
__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// Until the kernel before is complete.
__device__ __forceinline__ void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// To be called by all threads between the reading of tables and the first access to the bytes that
/// are moved. From the start of this kernel the next one of the stream may be set up, and this one
/// was set up while the one before ran: 1.2 to 1.5 us less for each of a row of kernels (H200).
__device__ __forceinline__ void wait_for_work_before() {
  let_next_begin();
  wait_for_kernel_before();
}

/// Brings the line of an address of device memory into the L2 cache. Allowed before
/// wait_for_work_before(), since it changes nothing.
__device__ __forceinline__ void prefetch_line(const std::byte* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

/// To be called by all threads of all blocks once their stores are issued. Each block's stores are
/// ordered before its arrival, and all arrivals before the flag, so the host that sees the flag
/// sees every byte.
__device__ __forceinline__ void raise_signal(const Signal& signal) {
  if (signal.flag == nullptr) return;
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (gridDim.x > 1) {
    // Arrivals order the blocks among themselves, for which the device's scope is enough. The count
    // wraps to zero at the last arrival: ready for the next kernel.
    __threadfence();
    if (atomicInc(signal.arrivals, gridDim.x - 1) != gridDim.x - 1) return;
  }
  __threadfence_system();
  *reinterpret_cast<volatile std::uint64_t*>(signal.flag) = signal.value;
}

/// Moves words (first + thread, + kThreads, ...) of one block's tile: every address, then every
/// load, then every store; `prefetch` tells whether the lines of the stores are fetched first. Past
/// the end the last word is loaded again and dropped, so that the loads need no branches between
/// them.
template <int Log2, int PerThread, typename Index, typename Source, typename Target>
__device__ __forceinline__ void move_tile(Index first, Index end, bool prefetch, Source source,
                                          Target target) {
  const Index at = first + threadIdx.x;
  Word<Log2> words[PerThread];
  const std::byte* from[PerThread];
  std::byte* to[PerThread];
#pragma unroll
  for (int i = 0; i < PerThread; ++i) from[i] = source(min(at + i * kThreads, end - 1));
#pragma unroll
  for (int i = 0; i < PerThread; ++i) to[i] = target(min(at + i * kThreads, end - 1));
  if (prefetch) {
#pragma unroll
    for (int i = 0; i < PerThread; ++i) prefetch_line(to[i]);
  }
  wait_for_work_before();
#pragma unroll
  for (int i = 0; i < PerThread; ++i) words[i] = load_word<Log2>(from[i]);
#pragma unroll
  for (int i = 0; i < PerThread; ++i) {
    if (at + i * kThreads < end) store_word<Log2>(to[i], words[i]);
  }
}

/// Calls f.template operator()<Log2>() for a run-time word size.
template <typename Function>
cudaError_t with_word(int word_log2, Function&& f) {
  switch (word_log2) {
    case 4:
      return f.template operator()<4>();
    case 3:
      return f.template operator()<3>();
    case 2:
      return f.template operator()<2>();
    case 1:
      return f.template operator()<1>();
    default:
      return f.template operator()<0>();
  }
}

/// Starts a kernel of kThreads threads a block. The kernel must call wait_for_work_before().
template <typename... Parameters, typename... Arguments>
cudaError_t start_kernel(void (*kernel)(Parameters...), unsigned blocks, const LaunchTarget& target,
                         const Arguments&... arguments) {
  if (target.load_only) {
    cudaFuncAttributes attributes{};
    return cudaFuncGetAttributes(&attributes, kernel);
  }
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = kThreads;
  config.stream = target.stream;
  config.attrs = &early;
  config.numAttrs = target.early ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

inline unsigned blocks_for(std::int64_t words, int per_thread) {
  const std::int64_t tile = std::int64_t{kThreads} * per_thread;
  return static_cast<unsigned>((words + tile - 1) / tile);
}

}  // namespace strake::cuda
