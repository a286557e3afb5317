#include "machine/path.hpp"

#include <iterator>

namespace strake::machine {

PathLink link_of(const Path& path) noexcept {
  const auto& [from, to] = path;
  const bool on_devices = is_on_device(from) && is_on_device(to);
  const bool on_host = !is_on_device(from) && !is_on_device(to);
  if (from.rank == to.rank && (on_host || (on_devices && from.gpu == to.gpu)))
    return PathLink::SameMemory;
  if (from.node != to.node) return PathLink::OtherNode;
  if (!on_devices) return PathLink::Host;
  return from.gpu == to.gpu ? PathLink::SameGpu : PathLink::PeerGpu;
}

const char* name_of(PathLink link) noexcept {
  constexpr const char* kNames[] = {"same memory", "same GPU", "peer GPU", "host", "other node"};
  static_assert(std::size(kNames) == kPathLinks);
  return kNames[static_cast<int>(link)];
}

}  // namespace strake::machine
