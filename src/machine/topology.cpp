#include "machine/topology.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strake::machine {

std::string name_of(const Link& link) {
  return link.kind == LinkKind::NvLink ? fmt::format("NV{}", link.nvlinks) : link.path;
}

const Link* link_between(const Topology& topology, int a, int b) noexcept {
  for (const Link& link : topology.links)
    if (link.from == std::min(a, b) && link.to == std::max(a, b)) return &link;
  return nullptr;
}

}  // namespace strake::machine
