#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "machine/nvml.hpp"
#include "machine/topology.hpp"
#include "strake/error.hpp"

namespace strake::machine {
namespace {

using nvml::Device;
using nvml::kSuccess;
using nvml::Library;

Gpu read_gpu(const Library& library, Device device, int index) {
  Gpu gpu;
  gpu.index = index;
  char text[96] = {};  // NVML_DEVICE_NAME_V2_BUFFER_SIZE, the longest of the two
  if (library.name(device, text, sizeof text) == kSuccess) gpu.name = text;
  if (library.uuid(device, text, sizeof text) == kSuccess) gpu.uuid = text;
  nvml::PciInfo pci{};
  if (library.pci_info(device, &pci) == kSuccess) gpu.pci = nvml::pci_name(pci);
  nvml::Memory memory{};
  if (library.memory(device, &memory) == kSuccess)
    gpu.memory_bytes = static_cast<std::int64_t>(memory.total);
  // The highest rate, not the current one: an idle GPU slows its link down.
  unsigned value = 0;
  if (library.pcie_generation(device, &value) == kSuccess)
    gpu.pcie_generation = static_cast<int>(value);
  if (library.pcie_width(device, &value) == kSuccess) gpu.pcie_width = static_cast<int>(value);
  return gpu;
}

const char* path_name(int ancestor) {
  switch (ancestor) {  // nvmlGpuTopologyLevel_t
    case 0:
      return "board";
    case 10:
      return "PIX";
    case 20:
      return "PXB";
    case 30:
      return "PHB";
    case 40:
      return "NODE";
    case 50:
      return "SYS";
    default:
      return "?";
  }
}

Link link_of(const Library& library, const Topology& topology, const std::vector<Device>& devices,
             const std::vector<nvml::NvLinks>& nvlinks, int from, int to) {
  const auto a = static_cast<std::size_t>(from);
  const auto b = static_cast<std::size_t>(to);
  Link link;
  link.from = from;
  link.to = to;
  const auto direct = nvlinks[a].to_gpu.find(topology.gpus[b].pci);
  if (direct != nvlinks[a].to_gpu.end()) {
    link.nvlinks = direct->second;
  } else {
    link.nvlinks = std::min(nvlinks[a].to_switch, nvlinks[b].to_switch);
    link.switched = link.nvlinks > 0;
  }
  if (link.nvlinks > 0) {
    link.kind = LinkKind::NvLink;
    link.bytes_per_second =
        1e6 * link.nvlinks * std::min(topology.gpus[a].nvlink_mbps, topology.gpus[b].nvlink_mbps);
    return link;
  }
  int ancestor = -1;
  if (library.common_ancestor(devices[a], devices[b], &ancestor) != kSuccess) ancestor = -1;
  link.path = path_name(ancestor);
  link.bytes_per_second =
      std::min(pcie_rate(topology.gpus[a].pcie_generation, topology.gpus[a].pcie_width),
               pcie_rate(topology.gpus[b].pcie_generation, topology.gpus[b].pcie_width));
  return link;
}

}  // namespace

void read_nvml(Topology& topology) try {
  const Library library;
  unsigned count = 0;
  const nvml::Status status = library.count(&count);
  if (status != kSuccess)
    throw Unsupported(fmt::format("NVML can't count the GPUs: {}", library.error_string(status)));
  std::vector<Device> devices;
  std::vector<nvml::NvLinks> nvlinks;
  for (unsigned index = 0; index < count; ++index) {
    Device device = nullptr;
    const nvml::Status found = library.handle_by_index(index, &device);
    if (found != kSuccess) {
      topology.notes.push_back(
          fmt::format("GPU {} is left out: {}", index, library.error_string(found)));
      continue;
    }
    Gpu gpu = read_gpu(library, device, static_cast<int>(index));
    nvlinks.push_back(nvml::nvlinks_of(library, device));
    gpu.nvlinks = nvlinks.back().active;
    gpu.switched = nvlinks.back().to_switch > 0;
    if (gpu.nvlinks > 0) gpu.nvlink_mbps = nvml::nvlink_speed(library, device);
    devices.push_back(device);
    topology.gpus.push_back(gpu);
  }
  const int gpus = static_cast<int>(topology.gpus.size());
  for (int from = 0; from < gpus; ++from)
    for (int to = from + 1; to < gpus; ++to)
      topology.links.push_back(link_of(library, topology, devices, nvlinks, from, to));
  if (gpus == 0) topology.notes.emplace_back("NVML finds no GPU");
} catch (const Unsupported& error) {
  topology.notes.push_back(fmt::format("no NVIDIA GPU is shown: {}", error.what()));
}

}  // namespace strake::machine
