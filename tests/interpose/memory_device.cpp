// Programs with CUDA, or with the stand-in for it (tests/standin).
#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "memory.hpp"

namespace test_memory {
namespace {

std::atomic<bool> g_held = false;

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

void set_late(void* address, unsigned char value, std::size_t bytes) {
  constexpr auto kSleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  check(cudaLaunchHostFunc(nullptr, kSleep, nullptr));
  check(cudaMemsetAsync(address, value, bytes, nullptr));
}

void hold_up() {
  constexpr auto kWait = [](void*) {
    while (g_held) std::this_thread::sleep_for(std::chrono::microseconds(50));
  };
  g_held = true;
  check(cudaLaunchHostFunc(nullptr, kWait, nullptr));
}

void let_go() { g_held = false; }

void finish_work() { check(cudaDeviceSynchronize()); }

}  // namespace test_memory
