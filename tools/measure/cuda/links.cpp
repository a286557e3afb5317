#include "measure/cuda/links.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "machine/nvml.hpp"
#include "machine/pcie.hpp"
#include "measure/cuda/machine.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {
namespace {

namespace nvml = machine::nvml;

/// What NVML says of a device.
struct Links {
  std::string pci;
  double host = 0;
  nvml::NvLinks nvlinks;
  double nvlink_rate = 0;  ///< of each
};

/// Of all devices, in CUDA's order; rates of 0 where there is no NVML.
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

}  // namespace strake::measure::cuda
