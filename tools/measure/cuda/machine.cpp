#include "measure/cuda/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "machine/key.hpp"
#include "machine/nvml.hpp"
#include "machine/pcie.hpp"
#include "measure/cuda/uuid.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {
namespace {

namespace nvml = machine::nvml;

/// Links of a device, from NVML.
struct Links {
  std::string pci;
  double host = 0;
  nvml::NvLinks nvlinks;
  double nvlink_rate = 0;  ///< of each
};

/// Links of all devices, in CUDA's order; rates of 0 where there is no NVML.
std::vector<Links> ask_nvml() {
  std::vector<Links> all(static_cast<std::size_t>(device_count()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i].pci = pci_name(static_cast<int>(i));
  try {
    const nvml::Library library;
    unsigned count = 0;
    if (library.count(&count) != nvml::kSuccess) return all;
    for (unsigned index = 0; index < count; ++index) {
      nvml::Device device = nullptr;
      nvml::PciInfo pci{};
      if (library.handle_by_index(index, &device) != nvml::kSuccess ||
          library.pci_info(device, &pci) != nvml::kSuccess) {
        continue;
      }
      for (Links& links : all) {
        if (links.pci != nvml::pci_name(pci)) continue;
        unsigned generation = 0;
        unsigned width = 0;
        if (library.pcie_generation(device, &generation) == nvml::kSuccess &&
            library.pcie_width(device, &width) == nvml::kSuccess) {
          links.host = machine::pcie_rate(static_cast<int>(generation), static_cast<int>(width));
        }
        links.nvlinks = nvml::nvlinks_of(library, device);
        links.nvlink_rate = 1e6 * nvml::nvlink_speed(library, device);
      }
    }
  } catch (const Unsupported&) {
    // No limits are known, then.
  }
  return all;
}

const Links& links_of(int device) {
  static const std::vector<Links> all = ask_nvml();  // once: an answer takes 0.1 ms
  return all.at(static_cast<std::size_t>(device));
}

}  // namespace

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

double host_link(int device) { return links_of(device).host; }

double peer_link(int device, int peer) {
  const Links& from = links_of(device);
  const Links& to = links_of(peer);
  const auto direct = from.nvlinks.to_gpu.find(to.pci);
  // A switch leads everywhere.
  const int nvlinks =
      device == peer
          ? from.nvlinks.active
          : from.nvlinks.to_switch + (direct == from.nvlinks.to_gpu.end() ? 0 : direct->second);
  const double rate = nvlinks * from.nvlink_rate;
  return rate > 0 ? rate : std::min(from.host, to.host);
}

double all_links(int device) { return peer_link(device, device); }

double memory_rate(int device) {
  // Two transfers a clock, as all memories of GPUs have had since the attribute exists.
  return 2.0 * 1e3 * attribute(cudaDevAttrMemoryClockRate, device) *
         attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8;
}

DeviceBackend& strake_backend(int device) {
  check(cudaSetDevice(device));
  check(cudaFree(nullptr));  // the back end is loaded only into processes that use a device
  DeviceBackend* const found = device_backend();
  if (found == nullptr) throw Unsupported("Strake's CUDA back end, libstrake-cuda.so, is missing");
  return *found;
}

DeviceCopier& strake_copier(int device) {
  (void)strake_backend(device);
  DeviceCopier* const found = device_copier();
  if (found == nullptr) throw Unsupported("Strake's CUDA back end has no copies");
  return *found;
}

}  // namespace strake::measure::cuda
