// Patterns: filled in and looked at where the bytes lie, over whole grids.
#include "measure/cuda/kernels.hpp"
#include "measure/cuda/pattern.cuh"

namespace strake::measure::cuda {
namespace {

constexpr int kThreads = 256;
// Enough for any device; each thread goes on by the grid's size.
constexpr std::int64_t kBlocks = 4096;

int blocks_for(std::int64_t items) {
  const std::int64_t blocks = (items + kThreads - 1) / kThreads;
  return static_cast<int>(blocks < 1 ? 1 : blocks > kBlocks ? kBlocks : blocks);
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

}  // namespace

std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t word) noexcept {
  return mixed_word(seed, word);
}

cudaError_t launch_fill(std::byte* to, std::int64_t bytes, std::uint64_t seed,
                        cudaStream_t stream) {
  fill_kernel<<<blocks_for(bytes / 8), kThreads, 0, stream>>>(to, bytes, seed);
  return cudaGetLastError();
}

cudaError_t launch_check(const std::byte* data, std::int64_t bytes, Map data_map,
                         std::uint64_t seed, Map pattern_map, unsigned long long* wrong,
                         cudaStream_t stream) {
  std::int64_t begin = 0;
  if (data_map.block == 0 && pattern_map.block == 0) {
    begin = bytes / 8 * 8;
    if (begin > 0) {
      check_words_kernel<<<blocks_for(bytes / 8), kThreads, 0, stream>>>(data, bytes / 8, seed,
                                                                         wrong);
    }
  }
  if (begin < bytes) {
    check_bytes_kernel<<<blocks_for(bytes - begin), kThreads, 0, stream>>>(
        data, begin, bytes, data_map, seed, pattern_map, wrong);
  }
  return cudaGetLastError();
}

}  // namespace strake::measure::cuda
