// The kernels of the benchmarks: patterns, filled in and looked at where the bytes lie; kernels
// that only take time or parameters; traffic at the rate of the memory or of the link; single
// words.
#include <algorithm>

#include "measure/cuda/kernels.hpp"

namespace strake::measure::cuda {
namespace {

constexpr int kThreads = 256;
// Loads of a thread in flight before the first is used: links need some 100 KB in flight.
constexpr int kUnroll = 4;

__device__ std::uint64_t now_ns() {
  std::uint64_t ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

/// Word `word` of pattern `seed` (the finalizer of SplitMix64: neighbours share nothing).
__host__ __device__ std::uint64_t mixed_word(std::uint64_t seed, std::uint64_t word) {
  std::uint64_t z = (word + 1) * 0x9e3779b97f4a7c15ull + seed * 0xd1342543de82ef95ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// Enough for any device; each thread goes on by the grid's size.
constexpr std::int64_t kMostPatternBlocks = 4096;

int pattern_blocks(std::int64_t items) {
  const std::int64_t blocks = (items + kThreads - 1) / kThreads;
  return static_cast<int>(blocks < 1                    ? 1
                          : blocks > kMostPatternBlocks ? kMostPatternBlocks
                                                        : blocks);
}

__device__ std::byte pattern_byte(std::uint64_t seed, std::int64_t at) {
  const auto word = static_cast<std::uint64_t>(at) / 8;
  return static_cast<std::byte>(mixed_word(seed, word) >> (at % 8 * 8));
}

__device__ std::int64_t place(const Map& map, std::int64_t p) {
  if (map.block == 0) return p;
  const std::int64_t block = p / map.block;
  const std::int64_t start = map.offsets != nullptr ? map.offsets[block] : block * map.pitch;
  return start + p % map.block;
}

__global__ void fill_kernel(std::byte* to, std::int64_t bytes, std::uint64_t seed) {
  const std::int64_t first = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t words = bytes / 8;
  for (std::int64_t i = first; i < words; i += step) {
    reinterpret_cast<std::uint64_t*>(to)[i] = mixed_word(seed, static_cast<std::uint64_t>(i));
  }
  for (std::int64_t i = words * 8 + first; i < bytes; i += step) to[i] = pattern_byte(seed, i);
}

__global__ void check_words_kernel(const std::byte* data, std::int64_t words, std::uint64_t seed,
                                   unsigned long long* wrong) {
  const std::int64_t first = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = first; i < words; i += step) {
    const std::uint64_t want = mixed_word(seed, static_cast<std::uint64_t>(i));
    if (reinterpret_cast<const std::uint64_t*>(data)[i] != want) atomicAdd(wrong, 1);
  }
}

__global__ void check_bytes_kernel(const std::byte* data, std::int64_t begin, std::int64_t end,
                                   Map data_map, std::uint64_t seed, Map pattern_map,
                                   unsigned long long* wrong) {
  const std::int64_t first = begin + blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t p = first; p < end; p += step) {
    if (data[place(data_map, p)] != pattern_byte(seed, place(pattern_map, p))) atomicAdd(wrong, 1);
  }
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

constexpr int kAllThreads = 512;
// 2048 threads, what a multiprocessor holds (some hold a few less, and then one waits).
constexpr int kBlocksAtOnce = 4;
// Registers are given out so that all of them fit; the smallest devices hold 1024 threads.
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000)
constexpr int kBlocksKept = kBlocksAtOnce;
#else
constexpr int kBlocksKept = 2;
#endif

using Word = uint4;  // the widest access there is on all devices

/// First stage: the compiler must believe that the value is used. Adds no instruction.
__device__ void keep(const Word& value) {
  asm volatile("" ::"r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w) : "memory");
}

/// Second stage: the assembler, which sees that nothing used the value, must believe that it may be
/// stored. `sink` is null when it is timed.
__global__ void __launch_bounds__(kAllThreads, kBlocksKept)
    read_kernel(const Word* __restrict__ from, std::int64_t words, std::uint64_t* sink) {
  const std::int64_t step = std::int64_t{gridDim.x} * kAllThreads;
  std::int64_t i = blockIdx.x * std::int64_t{kAllThreads} + threadIdx.x;
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
__global__ void __launch_bounds__(kAllThreads, kBlocksKept)
    write_kernel(Word* to, std::int64_t words, std::uint64_t seed) {
  const std::int64_t step = std::int64_t{gridDim.x} * kAllThreads;
  for (std::int64_t i = blockIdx.x * std::int64_t{kAllThreads} + threadIdx.x; i < words;
       i += step) {
    const std::uint64_t low = mixed_word(seed, static_cast<std::uint64_t>(2 * i));
    const std::uint64_t high = mixed_word(seed, static_cast<std::uint64_t>(2 * i + 1));
    to[i] = make_uint4(static_cast<unsigned>(low), static_cast<unsigned>(low >> 32),
                       static_cast<unsigned>(high), static_cast<unsigned>(high >> 32));
  }
}

__global__ void __launch_bounds__(kAllThreads, kBlocksKept)
    copy_kernel(Word* __restrict__ to, const Word* __restrict__ from, std::int64_t words) {
  const std::int64_t step = std::int64_t{gridDim.x} * kAllThreads;
  std::int64_t i = blockIdx.x * std::int64_t{kAllThreads} + threadIdx.x;
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
int blocks_at_once(std::int64_t words, int parts) {
  int device = 0;
  int multiprocessors = 1;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) !=
          cudaSuccess) {
    return 1;
  }
  const std::int64_t most = std::int64_t{multiprocessors} * kBlocksAtOnce / parts;
  const std::int64_t needed = (words + kAllThreads - 1) / kAllThreads;
  return static_cast<int>(needed < 1 ? 1 : needed > most ? most : needed);
}

// 2048 threads for each of 132 multiprocessors and more; each thread goes on by the grid's size.
constexpr std::int64_t kMostWordBlocks = 2048;

int word_blocks(std::int64_t items) { return static_cast<int>((items + kThreads - 1) / kThreads); }

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

std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t word) noexcept {
  return mixed_word(seed, word);
}

cudaError_t launch_fill(std::byte* to, std::int64_t bytes, std::uint64_t seed,
                        cudaStream_t stream) {
  fill_kernel<<<pattern_blocks(bytes / 8), kThreads, 0, stream>>>(to, bytes, seed);
  return cudaGetLastError();
}

cudaError_t launch_check(const std::byte* data, std::int64_t bytes, Map data_map,
                         std::uint64_t seed, Map pattern_map, unsigned long long* wrong,
                         cudaStream_t stream) {
  std::int64_t begin = 0;
  if (data_map.block == 0 && pattern_map.block == 0) {
    begin = bytes / 8 * 8;
    if (begin > 0) {
      check_words_kernel<<<pattern_blocks(bytes / 8), kThreads, 0, stream>>>(data, bytes / 8, seed,
                                                                             wrong);
    }
  }
  if (begin < bytes) {
    check_bytes_kernel<<<pattern_blocks(bytes - begin), kThreads, 0, stream>>>(
        data, begin, bytes, data_map, seed, pattern_map, wrong);
  }
  return cudaGetLastError();
}

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
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  add_kernel<<<blocks, kThreads, 0, stream>>>(c, a, b, count);
  return cudaGetLastError();
}

cudaError_t launch_read(const void* from, std::int64_t bytes, std::uint64_t* sink, int parts,
                        cudaStream_t stream) {
  const std::int64_t words = bytes / 16;
  read_kernel<<<blocks_at_once(words, parts), kAllThreads, 0, stream>>>(
      static_cast<const Word*>(from), words, sink);
  return cudaGetLastError();
}

cudaError_t launch_write(void* to, std::int64_t bytes, std::uint64_t seed, int parts,
                         cudaStream_t stream) {
  const std::int64_t words = bytes / 16;
  write_kernel<<<blocks_at_once(words, parts), kAllThreads, 0, stream>>>(static_cast<Word*>(to),
                                                                         words, seed);
  return cudaGetLastError();
}

cudaError_t launch_copy(void* to, const void* from, std::int64_t bytes, int parts,
                        cudaStream_t stream) {
  const std::int64_t words = bytes / 16;
  copy_kernel<<<blocks_at_once(words, parts), kAllThreads, 0, stream>>>(
      static_cast<Word*>(to), static_cast<const Word*>(from), words);
  return cudaGetLastError();
}

cudaError_t launch_touch(std::byte* data, std::int64_t bytes, std::int64_t page,
                         cudaStream_t stream) {
  const std::int64_t pages = bytes / page;
  touch_kernel<<<static_cast<unsigned>((pages + 255) / 256), 256, 0, stream>>>(data, pages, page);
  return cudaGetLastError();
}

cudaError_t launch_read_words(const void* from, std::int64_t bytes, std::int64_t pitch,
                              unsigned* sink, cudaStream_t stream) {
  const std::int64_t words = bytes / pitch;
  const auto blocks =
      static_cast<unsigned>(std::min<std::int64_t>(word_blocks(words), kMostWordBlocks));
  read_words_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<const std::byte*>(from), words,
                                                     pitch, sink);
  return cudaGetLastError();
}

cudaError_t launch_write_words(void* to, std::int64_t bytes, std::int64_t pitch, unsigned value,
                               cudaStream_t stream) {
  const std::int64_t words = bytes / pitch;
  write_words_kernel<<<word_blocks(words), kThreads, 0, stream>>>(static_cast<std::byte*>(to),
                                                                  words, pitch, value);
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
