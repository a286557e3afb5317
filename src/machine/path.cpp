#include "machine/path.hpp"

#include <iterator>

namespace strake::machine {

PathLink link_of(const Path& path) noexcept {
  const auto& [from, to] = path;
  if (from.rank == to.rank && from.memory == to.memory && from.gpu == to.gpu)
    return PathLink::SameMemory;
  if (from.node != to.node) return PathLink::OtherNode;
  if (!is_on_device(from) || !is_on_device(to)) return PathLink::Host;
  return from.gpu == to.gpu ? PathLink::SameGpu : PathLink::PeerGpu;
}

const char* name_of(PathLink link) noexcept {
  constexpr const char* kNames[] = {"same memory", "same GPU", "peer GPU", "host", "other node"};
  static_assert(std::size(kNames) == kPathLinks);
  return kNames[static_cast<int>(link)];
}

}  // namespace strake::machine
