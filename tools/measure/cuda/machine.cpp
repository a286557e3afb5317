#include "measure/cuda/machine.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "machine/key.hpp"
#include "measure/cuda/uuid.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {

void check(cudaError_t code, std::source_location where) {
  if (code == cudaSuccess) [[likely]]
    return;
  (void)cudaGetLastError();
  const std::string what =
      fmt::format("CUDA: {} ({}, code {}) at {}:{}", cudaGetErrorString(code),
                  cudaGetErrorName(code), static_cast<int>(code), where.file_name(), where.line());
  if (code == cudaErrorMemoryAllocation) throw OutOfMemory(what);
  throw CudaError(what, static_cast<int>(code));
}

int device_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  return count;
}

int attribute(cudaDeviceAttr attribute, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

std::string pci_name(int device) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", attribute(cudaDevAttrPciDomainId, device),
                     attribute(cudaDevAttrPciBusId, device),
                     attribute(cudaDevAttrPciDeviceId, device));
}

bool can_reach(int device, int peer) {
  int answer = 0;
  check(cudaDeviceCanAccessPeer(&answer, device, peer));
  return answer != 0;
}

void set_peer_access(int device, int peer, bool wanted) {
  check(cudaSetDevice(device));
  const cudaError_t code =
      wanted ? cudaDeviceEnablePeerAccess(peer, 0) : cudaDeviceDisablePeerAccess(peer);
  if (code == cudaErrorPeerAccessAlreadyEnabled || code == cudaErrorPeerAccessNotEnabled) {
    (void)cudaGetLastError();
    return;
  }
  check(code);
}

void need_free(int device, std::int64_t bytes) {
  check(cudaSetDevice(device));
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free_bytes, &total));
  if (static_cast<std::size_t>(bytes) > free_bytes / 2) {
    throw OutOfMemory(fmt::format("{} bytes are wanted on device {}, {} of {} are free", bytes,
                                  device, free_bytes, total));
  }
}

std::string description() {
  using Json = nlohmann::ordered_json;
  int version = 0;
  check(cudaDriverGetVersion(&version));
  Json gpus = Json::array();
  for (int device = 0; device < device_count(); ++device) {
    cudaDeviceProp gpu{};
    check(cudaGetDeviceProperties(&gpu, device));
    gpus.push_back({{"name", gpu.name},
                    {"uuid", uuid_text(gpu.uuid.bytes)},
                    {"pci", pci_name(device)},
                    {"memory_bytes", gpu.totalGlobalMem},
                    {"multiprocessors", gpu.multiProcessorCount}});
  }
  const Json all = {{"driver", machine::driver_version_below("")},
                    {"cuda", fmt::format("{}.{}", version / 1000, version % 1000 / 10)},
                    {"gpus", std::move(gpus)}};
  return all.dump();
}

}  // namespace strake::measure::cuda
