#include "measure/cuda/links.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "measure/cuda/machine.hpp"

namespace strake::measure::cuda {
namespace {

// The part of NVML's interface that is used; its header is not everywhere where its library is.
using NvmlDevice = void*;
constexpr int kNvmlSuccess = 0;
constexpr unsigned kMostLinks = 18;         // NVML_NVLINK_MAX_LINKS
constexpr unsigned kFieldCommonSpeed = 90;  // NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON
constexpr unsigned kFieldLinkSpeed = 164;   // NVML_FI_DEV_NVLINK_GET_SPEED, of the link in scope
constexpr unsigned kRemoteSwitch = 2;       // NVML_NVLINK_DEVICE_TYPE_SWITCH

struct NvmlPci {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];
};
struct NvmlField {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  int value_type;
  int code;
  union {
    double d;
    int si;
    unsigned ui;
    unsigned long ul;
    unsigned long long ull;
  } value;
};
constexpr int kUnsigned = 1;  // NVML_VALUE_TYPE_UNSIGNED_INT

class Nvml {
 public:
  Nvml() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)() = nullptr;
    usable_ = library != nullptr && find(library, "nvmlInit_v2", init) &&
              find(library, "nvmlDeviceGetHandleByPciBusId_v2", by_bus_id_) &&
              find(library, "nvmlDeviceGetMaxPcieLinkGeneration", generation_) &&
              find(library, "nvmlDeviceGetMaxPcieLinkWidth", width_) &&
              find(library, "nvmlDeviceGetNvLinkState", link_state_) &&
              find(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", remote_) &&
              find(library, "nvmlDeviceGetFieldValues", fields_) && init() == kNvmlSuccess;
    // Not everywhere: without it a link's other end is compared by address alone.
    if (usable_) (void)find(library, "nvmlDeviceGetNvLinkRemoteDeviceType", remote_type_);
  }

  [[nodiscard]] double pcie(int device) const {
    NvmlDevice handle = nullptr;
    unsigned generation = 0;
    unsigned width = 0;
    if (!handle_of(device, handle) || generation_(handle, &generation) != kNvmlSuccess ||
        width_(handle, &width) != kNvmlSuccess) {
      return 0;
    }
    // Transfers per second and lane, and the part of them that is data: 8b/10b, 128b/130b, and
    // blocks of 256 bytes with 14 of check codes from generation 6 on.
    constexpr double kRates[] = {0,
                                 2.5e9 * 0.8,
                                 5e9 * 0.8,
                                 8e9 * 128 / 130,
                                 16e9 * 128 / 130,
                                 32e9 * 128 / 130,
                                 64e9 * 242 / 256,
                                 128e9 * 242 / 256};
    return generation < std::size(kRates) ? kRates[generation] * width / 8 : 0;
  }

  /// Sum of the links that lead to `peer`, or to a switch; of all links where it is `device`.
  [[nodiscard]] double nvlink(int device, int peer) const {
    NvmlDevice handle = nullptr;
    if (!handle_of(device, handle)) return 0;
    const std::string peer_bus = bus_id(peer);
    double rate = 0;
    for (unsigned link = 0; link < kMostLinks; ++link) {
      unsigned active = 0;
      if (link_state_(handle, link, &active) != kNvmlSuccess || active == 0) continue;
      if (peer == device || leads_to(handle, link, peer_bus)) rate += speed(handle, link);
    }
    return rate;
  }

 private:
  template <typename Function>
  static bool find(void* library, const char* name, Function& out) {
    out = reinterpret_cast<Function>(dlsym(library, name));
    return out != nullptr;
  }
  static std::string bus_id(int device) {
    char text[32] = "";
    check(cudaDeviceGetPCIBusId(text, sizeof text, device));
    return text;
  }
  [[nodiscard]] bool handle_of(int device, NvmlDevice& handle) const {
    return usable_ && by_bus_id_(bus_id(device).c_str(), &handle) == kNvmlSuccess;
  }
  /// "0:17:00.0" of an address: NVML writes the domain with 8 digits, CUDA with 4.
  static std::string plain(const std::string& bus) {
    std::string address = bus.substr(std::min(bus.find_first_not_of('0'), bus.find(':') - 1));
    std::transform(address.begin(), address.end(), address.begin(), [](unsigned char c) {
      return static_cast<char>(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
    });
    return address;
  }
  [[nodiscard]] bool leads_to(NvmlDevice handle, unsigned link, const std::string& peer) const {
    unsigned type = 0;
    if (remote_type_ != nullptr && remote_type_(handle, link, &type) == kNvmlSuccess &&
        type == kRemoteSwitch) {
      return true;  // it leads everywhere
    }
    NvmlPci remote{};
    if (remote_(handle, link, &remote) != kNvmlSuccess) return false;
    return plain(remote.bus_id) == plain(peer);
  }
  [[nodiscard]] double speed(NvmlDevice handle, unsigned link) const {
    for (const unsigned field : {kFieldLinkSpeed, kFieldCommonSpeed}) {
      NvmlField value{};
      value.field = field;
      value.scope = field == kFieldLinkSpeed ? link : 0;
      if (fields_(handle, 1, &value) == kNvmlSuccess && value.code == kNvmlSuccess &&
          value.value_type == kUnsigned && value.value.ui > 0) {
        return value.value.ui * 1e6;  // given in MB/s
      }
    }
    return 0;
  }

  bool usable_ = false;
  int (*by_bus_id_)(const char*, NvmlDevice*) = nullptr;
  int (*generation_)(NvmlDevice, unsigned*) = nullptr;
  int (*width_)(NvmlDevice, unsigned*) = nullptr;
  int (*link_state_)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*remote_)(NvmlDevice, unsigned, NvmlPci*) = nullptr;
  int (*remote_type_)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*fields_)(NvmlDevice, int, NvmlField*) = nullptr;
};

const Nvml& nvml() {
  static const Nvml library;
  return library;
}

/// What NVML says of each device, and of each pair: asked once, for an answer takes 0.1 ms.
struct Rates {
  std::vector<double> host;
  std::vector<std::vector<double>> peer;
  Rates() {
    const int devices = device_count();
    for (int device = 0; device < devices; ++device) host.push_back(nvml().pcie(device));
    for (int device = 0; device < devices; ++device) {
      peer.emplace_back();
      for (int other = 0; other < devices; ++other) {
        const double links = nvml().nvlink(device, other);
        const double bus = std::min(host_of(device), host_of(other));
        peer.back().push_back(links > 0 ? links : bus);
      }
    }
  }
  [[nodiscard]] double host_of(int device) const { return host[static_cast<std::size_t>(device)]; }
};

const Rates& rates() {
  static const Rates all;
  return all;
}

}  // namespace

double host_link(int device) { return rates().host.at(static_cast<std::size_t>(device)); }

double peer_link(int device, int peer) {
  return rates().peer.at(static_cast<std::size_t>(device)).at(static_cast<std::size_t>(peer));
}

double all_links(int device) { return peer_link(device, device); }

double memory_rate(int device) {
  // Two transfers a clock, as all memories of GPUs have had since the attribute exists.
  return 2.0 * 1e3 * attribute(cudaDevAttrMemoryClockRate, device) *
         attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8;
}

}  // namespace strake::measure::cuda
