#include "machine/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "strake/error.hpp"

namespace strake::machine::nvml {
namespace {

constexpr const char* kName = "libnvidia-ml.so.1";

template <typename Function>
void find(void* object, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(object, name));
}

template <typename Function>
void need(void* object, const char* name, Function*& function) {
  find(object, name, function);
  if (function == nullptr) throw Unsupported(fmt::format("{} has no {}", kName, name));
}

bool ends_in_switch(const Library& library, Device device, unsigned number) {
  int type = -1;
  return library.nvlink_remote_type != nullptr &&
         library.nvlink_remote_type(device, number, &type) == kSuccess && type == kRemoteIsSwitch;
}

}  // namespace

void Library::Close::operator()(void* object) const noexcept { dlclose(object); }

Library::Library() : object_(dlopen(kName, RTLD_NOW | RTLD_LOCAL)) {
  if (object_ == nullptr) throw Unsupported(fmt::format("there is no {}", kName));
  void* object = object_.get();
  Status (*initialize)() = nullptr;
  need(object, "nvmlInit_v2", initialize);
  need(object, "nvmlShutdown", shutdown);
  need(object, "nvmlErrorString", error_string);
  need(object, "nvmlDeviceGetCount_v2", count);
  need(object, "nvmlDeviceGetHandleByIndex_v2", handle_by_index);
  need(object, "nvmlDeviceGetName", name);
  need(object, "nvmlDeviceGetUUID", uuid);
  need(object, "nvmlDeviceGetPciInfo_v3", pci_info);
  need(object, "nvmlDeviceGetMemoryInfo", memory);
  need(object, "nvmlDeviceGetMaxPcieLinkGeneration", pcie_generation);
  need(object, "nvmlDeviceGetMaxPcieLinkWidth", pcie_width);
  need(object, "nvmlDeviceGetNvLinkState", nvlink_state);
  need(object, "nvmlDeviceGetNvLinkRemotePciInfo_v2", nvlink_remote_pci);
  need(object, "nvmlDeviceGetFieldValues", field_values);
  need(object, "nvmlDeviceGetTopologyCommonAncestor", common_ancestor);
  find(object, "nvmlDeviceGetNvLinkRemoteDeviceType", nvlink_remote_type);  // from driver 455
  const Status status = initialize();
  if (status != kSuccess)
    throw Unsupported(fmt::format("nvmlInit_v2: {} (error {})", error_string(status), status));
}

Library::~Library() { shutdown(); }

std::string pci_name(const PciInfo& info) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", info.domain, info.bus, info.device);
}

NvLinks nvlinks_of(const Library& library, Device device) {
  NvLinks links;
  for (unsigned number = 0; number < kMostNvLinks; ++number) {
    int active = 0;
    if (library.nvlink_state(device, number, &active) != kSuccess) break;
    if (active == 0) continue;
    ++links.active;
    PciInfo remote{};
    if (ends_in_switch(library, device, number))
      ++links.to_switch;
    else if (library.nvlink_remote_pci(device, number, &remote) == kSuccess)
      ++links.to_gpu[pci_name(remote)];
  }
  return links;
}

int nvlink_speed(const Library& library, Device device) {
  for (const unsigned field : {kNvLinkSpeed, kNvLinkSpeedCommon}) {
    FieldValue value{};
    value.field = field;
    if (library.field_values(device, 1, &value) == kSuccess && value.status == kSuccess &&
        value.value.number > 0)
      return static_cast<int>(value.value.number);
  }
  return 0;
}

}  // namespace strake::machine::nvml
