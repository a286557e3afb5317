/// \file  strake-measure-ipc: owns device memory for another process to open. Writes the handle to
/// its output and ends when its input does.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  // The bytes to own and the device they are on, by its bus address: ordinals may differ.
  if (argc != 3) {
    std::fprintf(stderr, "usage: strake-measure-ipc BYTES PCI-BUS-ID\n");
    return 2;
  }
  const unsigned long long bytes = std::strtoull(argv[1], nullptr, 10);
  int device = 0;
  void* memory = nullptr;
  cudaIpcMemHandle_t handle{};
  cudaError_t code = cudaDeviceGetByPCIBusId(&device, argv[2]);
  if (code == cudaSuccess) code = cudaSetDevice(device);
  if (code == cudaSuccess) code = cudaMalloc(&memory, bytes);
  if (code == cudaSuccess) code = cudaMemset(memory, 0x5a, bytes);
  if (code == cudaSuccess) code = cudaDeviceSynchronize();
  if (code == cudaSuccess) code = cudaIpcGetMemHandle(&handle, memory);
  if (code != cudaSuccess) {
    std::fprintf(stderr, "strake-measure-ipc: %s\n", cudaGetErrorString(code));
    return 1;
  }
  if (write(STDOUT_FILENO, &handle, sizeof handle) != static_cast<ssize_t>(sizeof handle)) return 1;
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
