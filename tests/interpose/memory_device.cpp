// Programs with CUDA, or with the stand-in for it (tests/standin).
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

#include "memory.hpp"

namespace test_memory {
namespace {

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "FAILED CUDA: %s\n", cudaGetErrorString(code));
  std::abort();
}

}  // namespace

bool use_device(int rank) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return false;
  check(cudaSetDevice(rank % devices));
  on_device() = true;
  return true;
}

void* allocate(std::size_t bytes) {
  void* address = nullptr;
  check(cudaMalloc(&address, bytes));
  return address;
}

void release(void* address) { cudaFree(address); }

void copy(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}

}  // namespace test_memory
