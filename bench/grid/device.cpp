#include "grid/device.hpp"

#include <mpi.h>

#include "grid/contenders.hpp"

namespace bench {

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

}  // namespace bench
