#include "support/device.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace bench {

void check(cudaError_t code, std::source_location where) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s:%u: CUDA: %s\n", where.file_name(), where.line(),
               cudaGetErrorString(code));
  std::fflush(nullptr);
  std::_Exit(1);  // handlers of the exit may wait for other ranks
}

DeviceMemory::DeviceMemory(Where where, std::int64_t bytes, int device)
    : where_(where), bytes_(bytes) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  void* memory = nullptr;
  int before = 0;
  check(cudaGetDevice(&before));
  if (device != kCurrent) check(cudaSetDevice(device));
  check(where == Where::Device ? cudaMalloc(&memory, size)
                               : cudaHostAlloc(&memory, size, cudaHostAllocMapped));
  data_ = static_cast<std::byte*>(memory);
  check(cudaMemset(data_, 0, size));
  check(cudaDeviceSynchronize());
  check(cudaSetDevice(before));
}

DeviceMemory::~DeviceMemory() {
  check(where_ == Where::Device ? cudaFree(data_) : cudaFreeHost(data_));
}

void DeviceMemory::write(const void* from) {
  check(cudaMemcpy(data_, from, static_cast<std::size_t>(bytes_), cudaMemcpyDefault));
}

std::vector<std::byte> DeviceMemory::read(std::int64_t offset, std::int64_t bytes) const {
  std::vector<std::byte> host(static_cast<std::size_t>(bytes));
  check(cudaMemcpy(host.data(), data_ + offset, host.size(), cudaMemcpyDefault));
  return host;
}

}  // namespace bench
