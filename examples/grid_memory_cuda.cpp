#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "grid_memory.hpp"

namespace {

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "halo3d: %s: %s\n", what, cudaGetErrorString(result));
  std::exit(2);
}

}  // namespace

const char* open_device(int local_rank) {
  int devices = 0;
  const cudaError_t result = cudaGetDeviceCount(&devices);
  if (result != cudaSuccess) return cudaGetErrorString(result);
  if (devices == 0) return "there is no GPU";
  check(cudaSetDevice(local_rank % devices), "cudaSetDevice");
  return nullptr;
}

void* allocate_on_device(std::size_t bytes) {
  void* address = nullptr;
  check(cudaMalloc(&address, bytes), "cudaMalloc");
  check(cudaMemset(address, 0, bytes), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return address;
}

void free_on_device(void* address) { check(cudaFree(address), "cudaFree"); }

void copy_to_device(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the device");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void copy_from_device(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
}
