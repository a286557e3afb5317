// The ports of network adapters that are up, from sysfs: no library is needed.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "topo/reader.hpp"

namespace strake::topo {
namespace {

namespace fs = std::filesystem;

/// A port and the device that has it.
struct Port {
  Nic nic;
  fs::path device;
  fs::path physical;  ///< the device of which `device` is a virtual function; empty: it is none
};

/// The first line of a file; empty if the file can't be read.
std::string line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The number at the start of a file, or `other`.
double number_in(const fs::path& path, double other) {
  const std::string line = line_of(path);
  double number = other;
  std::from_chars(line.data(), line.data() + line.size(), number);
  return number;
}

/// The entries of a folder in the order of their names.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; entry != end; entry.increment(error))
    paths.push_back(entry->path());
  std::ranges::sort(paths);
  return paths;
}

/// A port of the device that `folder` of a class of devices is about.
Port port_of(const fs::path& folder, const std::string& name, std::string_view kind, double mbps) {
  std::error_code missing;
  Port port;
  port.device = fs::canonical(folder / "device", missing);
  port.physical = fs::canonical(folder / "device/physfn", missing);
  // The speed of a device that knows none is -1.
  port.nic = {name, std::llround(std::max(mbps, 0.0)),
              static_cast<int>(number_in(folder / "device/numa_node", -1)), std::string(kind)};
  return port;
}

/// Ports of RDMA devices: of InfiniBand, or of Ethernet with RoCE.
std::vector<Port> rdma_ports(const fs::path& sysfs) {
  std::vector<Port> ports;
  for (const fs::path& device : entries_of(sysfs / "class/infiniband")) {
    std::error_code error;
    if (!fs::exists(device / "device", error))
      continue;  // software, on a device that counts itself
    for (const fs::path& port : entries_of(device / "ports")) {
      if (!line_of(port / "state").ends_with(" ACTIVE")) continue;
      const bool is_ethernet = line_of(port / "link_layer") == "Ethernet";
      ports.push_back(port_of(device, device.filename().string() + ":" + port.filename().string(),
                              is_ethernet ? "Ethernet" : "InfiniBand",
                              1000 * number_in(port / "rate", 0)));
    }
  }
  return ports;
}

/// Network devices of hardware. Those of a device in `counted` are ports of that one.
std::vector<Port> net_ports(const fs::path& sysfs, const std::vector<Port>& counted) {
  std::vector<Port> ports;
  for (const fs::path& folder : entries_of(sysfs / "class/net")) {
    const Port port =
        port_of(folder, folder.filename().string(), "Ethernet", number_in(folder / "speed", 0));
    std::error_code error;
    if (port.device.empty() || fs::exists(folder / "wireless", error)) continue;
    if (line_of(folder / "operstate") != "up") continue;
    if (std::ranges::find(counted, port.device, &Port::device) == counted.end())
      ports.push_back(port);
  }
  return ports;
}

}  // namespace

void read_nics(Topology& machine, const std::string& sysfs) {
  std::vector<Port> ports = rdma_ports(sysfs);
  const std::vector<Port> net = net_ports(sysfs, ports);
  ports.insert(ports.end(), net.begin(), net.end());
  for (const Port& port : ports) {
    // A virtual function shares the rate of the device that it is of.
    const bool is_share = !port.physical.empty() &&
                          std::ranges::find(ports, port.physical, &Port::device) != ports.end();
    if (!is_share) machine.nics.push_back(port.nic);
  }
  if (machine.nics.empty()) machine.notes.emplace_back("no NIC is up");
}

}  // namespace strake::topo
