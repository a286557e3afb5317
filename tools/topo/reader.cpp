#include "topo/reader.hpp"

#include <unistd.h>

#include <array>

namespace strake::topo {

Topology read_machine() {
  Topology machine;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) machine.host = host.data();
  strake::machine::read_nvml(machine);
  read_hwloc(machine);
  read_nics(machine, "/sys");
  return machine;
}

}  // namespace strake::topo
