/// \file  The few functions of NVML that the topology and the benchmarks of GPUs need, from the
/// driver's own library at run time: a machine without it runs the same command. Declared as NVML's
/// reference gives them; its types and numbers never change once published.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>

namespace strake::machine::nvml {

using Device = void*;
using Status = int;
inline constexpr Status kSuccess = 0;

/// nvmlPciInfo_t
struct PciInfo {
  std::array<char, 16> bus_id_legacy;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  std::array<char, 32> bus_id;
};

/// nvmlMemory_t
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

/// nvmlFieldValue_t
struct FieldValue {
  unsigned field;
  unsigned scope;  ///< the number of the NVLink
  long long timestamp;
  long long latency_us;
  int type;
  Status status;
  union {
    double real;
    unsigned number;
    unsigned long long wide;
  } value;
};

inline constexpr unsigned kNvLinkSpeedCommon = 90;  ///< NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON
inline constexpr unsigned kNvLinkSpeed = 164;       ///< NVML_FI_DEV_NVLINK_GET_SPEED
inline constexpr int kRemoteIsSwitch = 2;           ///< NVML_NVLINK_DEVICE_TYPE_SWITCH
/// More than any GPU has (NVML_NVLINK_MAX_LINKS is 18); the loop ends when NVML knows no more.
inline constexpr unsigned kMostNvLinks = 64;

/// The library, open and initialised for as long as this lives.
class Library {
 public:
  /// \throws Unsupported  it is not there, or does not start, and why
  Library();
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// \{ As in NVML. Functions that an old driver lacks are null.
  Status (*shutdown)() = nullptr;
  const char* (*error_string)(Status) = nullptr;
  Status (*count)(unsigned*) = nullptr;
  Status (*handle_by_index)(unsigned, Device*) = nullptr;
  Status (*name)(Device, char*, unsigned) = nullptr;
  Status (*uuid)(Device, char*, unsigned) = nullptr;
  Status (*pci_info)(Device, PciInfo*) = nullptr;
  Status (*memory)(Device, Memory*) = nullptr;
  Status (*pcie_generation)(Device, unsigned*) = nullptr;
  Status (*pcie_width)(Device, unsigned*) = nullptr;
  Status (*nvlink_state)(Device, unsigned, int*) = nullptr;
  Status (*nvlink_remote_pci)(Device, unsigned, PciInfo*) = nullptr;
  Status (*nvlink_remote_type)(Device, unsigned, int*) = nullptr;
  Status (*field_values)(Device, int, FieldValue*) = nullptr;
  Status (*common_ancestor)(Device, Device, int*) = nullptr;
  /// \}

 private:
  struct Close {
    void operator()(void* object) const noexcept;
  };
  std::unique_ptr<void, Close> object_;
};

/// "0000:18:00.0", as the kernel and hwloc write it, where NVML has "00000000:18:00.0".
[[nodiscard]] std::string pci_name(const PciInfo& info);

/// NVLinks of one GPU: how many end in switches, and how many at each other GPU (by its pci_name).
struct NvLinks {
  int active = 0;
  int to_switch = 0;
  std::map<std::string, int> to_gpu;
};
[[nodiscard]] NvLinks nvlinks_of(const Library& library, Device device);
/// The rate of one NVLink, one way, in 10^6 bytes/s; 0 if the driver does not say.
[[nodiscard]] int nvlink_speed(const Library& library, Device device);

}  // namespace strake::machine::nvml
