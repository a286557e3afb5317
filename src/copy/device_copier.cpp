#include "copy/device_copier.hpp"

#include "settings/log.hpp"

namespace strake {

DeviceCopier* device_copier() noexcept {
  if (device_backend() == nullptr) return nullptr;
  static DeviceCopier* const copier = []() noexcept -> DeviceCopier* {
    const auto make =
        reinterpret_cast<MakeDeviceCopier>(device_plugin_symbol("strake_make_device_copier"));
    DeviceCopier* const made =
        make != nullptr ? make(kDeviceBackendVersion, block_source()) : nullptr;
    if (made == nullptr)
      log::warn("the device back end's copies are not of version {}", kDeviceBackendVersion);
    return made;
  }();
  return copier;
}

}  // namespace strake
