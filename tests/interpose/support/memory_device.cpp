// Programs with CUDA, or with the stand-in for it (tests/standin).
#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "memory.hpp"
#include "memory_kinds.hpp"

namespace test_memory {
namespace {

std::atomic<bool> g_held = false;

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "FAILED CUDA: %s\n", cudaGetErrorString(code));
  std::abort();
}

/// The kind of the next allocation: that of TEST_MEMORY, or each in turn ("any"); else Malloc.
Kind next_kind() {
  static const char* const wanted = std::getenv("TEST_MEMORY");
  static std::atomic<int> turn = 0;
  if (wanted == nullptr) return Kind::Malloc;
  for (int i = 0; i < kKinds; ++i) {
    if (std::strcmp(wanted, kKindNames[i]) == 0) return static_cast<Kind>(i);
  }
  if (std::strcmp(wanted, "any") != 0) {
    std::fprintf(stderr, "FAILED TEST_MEMORY=%s: no such kind\n", wanted);
    std::abort();
  }
  return static_cast<Kind>(turn++ % kKinds);
}

/// Kind of each address that was given out; threads allocate, too.
std::mutex g_kinds_mutex;
std::map<void*, Kind> g_kinds;

}  // namespace

bool use_device(int rank) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return false;
  check(cudaSetDevice(rank % devices));
  on_device() = true;
  return true;
}

int devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

int device() {
  int current = 0;
  check(cudaGetDevice(&current));
  return current;
}

void* allocate(std::size_t bytes) {
  const Kind kind = next_kind();
  void* address = nullptr;
  if (kind == Kind::Host) return address;
  if (kind == Kind::Malloc) {
    check(cudaMalloc(&address, bytes));
  } else {
    address = allocate(kind, bytes);
  }
  const std::lock_guard lock(g_kinds_mutex);
  g_kinds[address] = kind;
  return address;
}

void release(void* address) {
  const Kind kind = [&] {
    const std::lock_guard lock(g_kinds_mutex);
    return g_kinds.extract(address).mapped();
  }();
  if (kind == Kind::Malloc) {
    cudaFree(address);
  } else {
    release(kind, address);
  }
}

void renew(void* address) {
  const Kind kind = [&] {
    const std::lock_guard lock(g_kinds_mutex);
    return g_kinds.at(address);
  }();
  if (kind == Kind::Mapped) renew_first_piece(address);
}

void copy(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
  // cudaMemcpy may return before some KiB have come to the device, and streams of programs don't
  // wait for them.
  check(cudaStreamSynchronize(nullptr));
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
