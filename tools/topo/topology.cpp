#include "topo/topology.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace strake::topo {

std::string name_of(const Link& link) {
  return link.kind == LinkKind::NvLink ? fmt::format("NV{}", link.nvlinks) : link.path;
}

const Link* link_between(const Machine& machine, int a, int b) noexcept {
  for (const Link& link : machine.links)
    if (link.from == std::min(a, b) && link.to == std::max(a, b)) return &link;
  return nullptr;
}

Machine read_machine() {
  Machine machine;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) machine.host = host.data();
  read_nvml(machine);
  read_hwloc(machine);
  return machine;
}

}  // namespace strake::topo
