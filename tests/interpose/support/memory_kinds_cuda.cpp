#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "memory.hpp"
#include "memory_kinds.hpp"

namespace test_memory {
namespace {

constexpr std::size_t kPiece = std::size_t{2} << 20;

void check(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "FAILED CUDA: %s: %d\n", what, code);
  std::abort();
}
#define CHECK_CUDA(call) check(static_cast<int>(call), #call)

/// A function of the driver, which the program is not linked to.
template <typename Function>
Function* driver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  CHECK_CUDA(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
  check(found == nullptr ? 1 : 0, name);
  return reinterpret_cast<Function*>(found);
}
#define DRIVER(name) driver<decltype(name)>(#name)

int current_device() {
  int device = 0;
  CHECK_CUDA(cudaGetDevice(&device));
  return device;
}

void map_piece(CUdeviceptr at) {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = current_device();
  CUmemGenericAllocationHandle handle = 0;
  CHECK_CUDA(DRIVER(cuMemCreate)(&handle, kPiece, &wanted, 0));
  CHECK_CUDA(DRIVER(cuMemMap)(at, kPiece, 0, handle, 0));
  CHECK_CUDA(DRIVER(cuMemRelease)(handle));
  CUmemAccessDesc access{};
  access.location = wanted.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK_CUDA(DRIVER(cuMemSetAccess)(at, kPiece, &access, 1));
}

/// Mapped memory: its bytes, by address.
std::map<CUdeviceptr, std::size_t>& mapped() {
  static std::map<CUdeviceptr, std::size_t> bytes;
  return bytes;
}

}  // namespace

void* allocate(Kind kind, std::size_t bytes) {
  void* address = nullptr;
  if (kind == Kind::Pinned) {
    CHECK_CUDA(cudaMallocHost(&address, bytes));
  } else if (kind == Kind::Managed) {
    CHECK_CUDA(cudaMallocManaged(&address, bytes, cudaMemAttachGlobal));
  } else if (kind == Kind::Pool) {
    CHECK_CUDA(cudaMallocAsync(&address, bytes, nullptr));
    CHECK_CUDA(cudaStreamSynchronize(nullptr));
  } else {
    const std::size_t whole = (bytes + kPiece - 1) / kPiece * kPiece;
    CUdeviceptr base = 0;
    CHECK_CUDA(DRIVER(cuMemAddressReserve)(&base, whole, 0, 0, 0));
    for (std::size_t at = 0; at < whole; at += kPiece) map_piece(base + at);
    mapped()[base] = whole;
    address = reinterpret_cast<void*>(base);
  }
  return address;
}

void release(Kind kind, void* address) {
  if (kind == Kind::Pinned) {
    CHECK_CUDA(cudaFreeHost(address));
  } else if (kind != Kind::Mapped) {
    CHECK_CUDA(cudaFree(address));
  } else {
    CHECK_CUDA(cudaDeviceSynchronize());
    const auto base = reinterpret_cast<CUdeviceptr>(address);
    const std::size_t whole = mapped().extract(base).mapped();
    CHECK_CUDA(DRIVER(cuMemUnmap)(base, whole));
    CHECK_CUDA(DRIVER(cuMemAddressFree)(base, whole));
  }
}

std::size_t device_bytes_in_use() {
  std::size_t free_bytes = 0, all_bytes = 0;
  CHECK_CUDA(cudaMemGetInfo(&free_bytes, &all_bytes));
  return all_bytes - free_bytes;
}

void reset_device() { CHECK_CUDA(cudaDeviceReset()); }
long driver_uses() { return 0; }
void allocate_at(void* /*address*/, std::size_t /*bytes*/) {}

void renew_first_piece(void* address) {
  CHECK_CUDA(cudaDeviceSynchronize());
  const auto base = reinterpret_cast<CUdeviceptr>(address);
  CHECK_CUDA(DRIVER(cuMemUnmap)(base, kPiece));
  map_piece(base);
}

}  // namespace test_memory
