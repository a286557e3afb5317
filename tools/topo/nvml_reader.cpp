#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "strake/error.hpp"
#include "topo/nvml.hpp"
#include "topo/topology.hpp"

namespace strake::topo {
namespace {

using nvml::Device;
using nvml::kSuccess;
using nvml::Library;

/// "00000000:18:00.0" as the kernel and hwloc write it: "0000:18:00.0".
std::string pci_name(const nvml::PciInfo& info) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", info.domain, info.bus, info.device);
}

/// NVLinks of one GPU: how many end in switches, and how many at each other GPU.
struct NvLinks {
  int active = 0;
  int to_switch = 0;
  std::map<std::string, int> to_gpu;
};

bool ends_in_switch(const Library& library, Device device, unsigned number) {
  int type = -1;
  return library.nvlink_remote_type != nullptr &&
         library.nvlink_remote_type(device, number, &type) == kSuccess &&
         type == nvml::kRemoteIsSwitch;
}

NvLinks nvlinks_of(const Library& library, Device device) {
  NvLinks links;
  for (unsigned number = 0; number < nvml::kMostNvLinks; ++number) {
    int active = 0;
    if (library.nvlink_state(device, number, &active) != kSuccess) break;
    if (active == 0) continue;
    ++links.active;
    nvml::PciInfo remote{};
    if (ends_in_switch(library, device, number))
      ++links.to_switch;
    else if (library.nvlink_remote_pci(device, number, &remote) == kSuccess)
      ++links.to_gpu[pci_name(remote)];
  }
  return links;
}

/// One way, in 10^6 bytes/s; 0 where the driver does not say.
int nvlink_speed(const Library& library, Device device) {
  for (const unsigned field : {nvml::kNvLinkSpeed, nvml::kNvLinkSpeedCommon}) {
    nvml::FieldValue value{};
    value.field = field;
    if (library.field_values(device, 1, &value) == kSuccess && value.status == kSuccess &&
        value.value.number > 0)
      return static_cast<int>(value.value.number);
  }
  return 0;
}

Gpu read_gpu(const Library& library, Device device, int index) {
  Gpu gpu;
  gpu.index = index;
  char text[96] = {};  // NVML_DEVICE_NAME_V2_BUFFER_SIZE, the longest of the two
  if (library.name(device, text, sizeof text) == kSuccess) gpu.name = text;
  if (library.uuid(device, text, sizeof text) == kSuccess) gpu.uuid = text;
  nvml::PciInfo pci{};
  if (library.pci_info(device, &pci) == kSuccess) gpu.pci = pci_name(pci);
  nvml::Memory memory{};
  if (library.memory(device, &memory) == kSuccess)
    gpu.memory_bytes = static_cast<std::int64_t>(memory.total);
  // The most, not the present: an idle GPU lets its link fall back.
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

Link link_of(const Library& library, const Machine& machine, const std::vector<Device>& devices,
             const std::vector<NvLinks>& nvlinks, int from, int to) {
  const auto a = static_cast<std::size_t>(from);
  const auto b = static_cast<std::size_t>(to);
  Link link;
  link.from = from;
  link.to = to;
  const auto direct = nvlinks[a].to_gpu.find(machine.gpus[b].pci);
  if (direct != nvlinks[a].to_gpu.end()) {
    link.nvlinks = direct->second;
  } else {
    link.nvlinks = std::min(nvlinks[a].to_switch, nvlinks[b].to_switch);
    link.switched = link.nvlinks > 0;
  }
  if (link.nvlinks > 0) {
    link.kind = LinkKind::NvLink;
    link.bytes_per_second =
        1e6 * link.nvlinks * std::min(machine.gpus[a].nvlink_mbps, machine.gpus[b].nvlink_mbps);
    return link;
  }
  int ancestor = -1;
  if (library.common_ancestor(devices[a], devices[b], &ancestor) != kSuccess) ancestor = -1;
  link.path = path_name(ancestor);
  link.bytes_per_second =
      std::min(pcie_rate(machine.gpus[a].pcie_generation, machine.gpus[a].pcie_width),
               pcie_rate(machine.gpus[b].pcie_generation, machine.gpus[b].pcie_width));
  return link;
}

}  // namespace

void read_nvml(Machine& machine) try {
  const Library library;
  unsigned count = 0;
  const nvml::Status status = library.count(&count);
  if (status != kSuccess)
    throw Unsupported(fmt::format("NVML counts no GPUs: {}", library.error_string(status)));
  std::vector<Device> devices;
  std::vector<NvLinks> nvlinks;
  for (unsigned index = 0; index < count; ++index) {
    Device device = nullptr;
    const nvml::Status found = library.handle_by_index(index, &device);
    if (found != kSuccess) {
      machine.notes.push_back(
          fmt::format("GPU {} is left out: {}", index, library.error_string(found)));
      continue;
    }
    Gpu gpu = read_gpu(library, device, static_cast<int>(index));
    nvlinks.push_back(nvlinks_of(library, device));
    gpu.nvlinks = nvlinks.back().active;
    gpu.switched = nvlinks.back().to_switch > 0;
    if (gpu.nvlinks > 0) gpu.nvlink_mbps = nvlink_speed(library, device);
    devices.push_back(device);
    machine.gpus.push_back(gpu);
  }
  const int gpus = static_cast<int>(machine.gpus.size());
  for (int from = 0; from < gpus; ++from)
    for (int to = from + 1; to < gpus; ++to)
      machine.links.push_back(link_of(library, machine, devices, nvlinks, from, to));
  if (gpus == 0) machine.notes.emplace_back("NVML finds no GPU");
} catch (const Unsupported& error) {
  machine.notes.push_back(fmt::format("no NVIDIA GPU is shown: {}", error.what()));
}

}  // namespace strake::topo
