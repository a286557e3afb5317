#include "topo/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "strake/error.hpp"

namespace strake::topo::nvml {
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

}  // namespace strake::topo::nvml
