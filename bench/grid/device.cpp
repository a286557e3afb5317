#include "grid/device.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "grid/contenders.hpp"
#include "strake/error.hpp"

namespace bench {

void check(cudaError_t code, std::source_location where) {
  if (code == cudaSuccess) return;
  (void)cudaGetLastError();
  throw strake::CudaError(std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                              ": " + cudaGetErrorString(code),
                          code);
}

int devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) throw NoDevice("there is no device");
  return count;
}

int device_of(int rank) { return rank % devices(); }

int use_device() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int device = device_of(rank);
  check(cudaSetDevice(device));
  check(cudaFree(nullptr));  // makes the context
  return device;
}

bool all_ranks(bool yes) {
  int all = yes ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all == 1;
}

DeviceMemory::DeviceMemory(Where where, std::int64_t bytes) : where_(where) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  void* memory = nullptr;
  check(where == Where::Device ? cudaMalloc(&memory, size)
                               : cudaHostAlloc(&memory, size, cudaHostAllocMapped));
  data_ = static_cast<std::byte*>(memory);
}

DeviceMemory::~DeviceMemory() {
  const cudaError_t code = where_ == Where::Device ? cudaFree(data_) : cudaFreeHost(data_);
  if (code != cudaSuccess)
    std::fprintf(stderr, "memory was not freed: %s\n", cudaGetErrorString(code));
}

}  // namespace bench
