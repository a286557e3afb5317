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

double pcie_rate(int generation, int width) noexcept {
  // Transfers per second of one lane, and the bits of payload in those sent: 8b/10b, then
  // 128b/130b, then flits of 256 bytes with 242 of payload (PCI Express base specifications 1 to
  // 6).
  struct Generation {
    double transfers;
    double payload;
  };
  constexpr std::array<Generation, 6> kGenerations = {{{2.5e9, 8.0 / 10},
                                                       {5e9, 8.0 / 10},
                                                       {8e9, 128.0 / 130},
                                                       {16e9, 128.0 / 130},
                                                       {32e9, 128.0 / 130},
                                                       {64e9, 242.0 / 256}}};
  if (generation < 1 || generation > static_cast<int>(kGenerations.size())) return 0;
  const Generation& of = kGenerations[static_cast<std::size_t>(generation - 1)];
  return of.transfers * of.payload / 8 * width;
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
