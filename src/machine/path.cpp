#include "machine/path.hpp"

#include <algorithm>
#include <iterator>

namespace strake::machine {
namespace {

constexpr unsigned bit(TransferMethod method) noexcept {
  return 1U << static_cast<unsigned>(method);
}
template <typename... Methods>
constexpr unsigned bits(Methods... methods) noexcept {
  return (0U | ... | bit(methods));
}

/// What is possible: over a link, with so many ends in device memory. Where one end is in host
/// memory, that end packs, and the other one goes one-shot or staged.
struct Possible {
  PathLink link;
  int devices;
  unsigned methods;
};
constexpr Possible kPossible[] = {
    {PathLink::SameMemory, 2, bits(TransferMethod::Self)},
    {PathLink::SameMemory, 0, bits(TransferMethod::Self)},
    {PathLink::SameGpu, 2,
     bits(TransferMethod::Direct, TransferMethod::Device, TransferMethod::OneShot,
          TransferMethod::Staged)},
    {PathLink::PeerGpu, 2,
     bits(TransferMethod::Direct, TransferMethod::Engine, TransferMethod::Device,
          TransferMethod::OneShot, TransferMethod::Staged)},
    {PathLink::Host, 1, bits(TransferMethod::OneShot, TransferMethod::Staged)},
    {PathLink::Host, 0, bits(TransferMethod::Direct, TransferMethod::Pack)},
    {PathLink::OtherNode, 2,
     bits(TransferMethod::Device, TransferMethod::OneShot, TransferMethod::Staged)},
    {PathLink::OtherNode, 1, bits(TransferMethod::OneShot, TransferMethod::Staged)},
    {PathLink::OtherNode, 0, bits(TransferMethod::Pack)},
};

bool on_device(const PathEnd& end) noexcept { return end.memory == MemoryKind::Device; }

}  // namespace

PathLink link_of(const Path& path) noexcept {
  const auto& [from, to] = path;
  if (from.rank == to.rank) return PathLink::SameMemory;
  if (from.node != to.node) return PathLink::OtherNode;
  if (!on_device(from) || !on_device(to)) return PathLink::Host;
  return from.gpu == to.gpu ? PathLink::SameGpu : PathLink::PeerGpu;
}

const char* name_of(PathLink link) noexcept {
  constexpr const char* kNames[] = {"same memory", "same GPU", "peer GPU", "host", "other node"};
  static_assert(std::size(kNames) == kPathLinks);
  return kNames[static_cast<int>(link)];
}

const char* name_of(TransferMethod method) noexcept {
  constexpr const char* kNames[] = {"self",     "direct", "engine", "device",
                                    "one-shot", "staged", "pack"};
  static_assert(std::size(kNames) == kTransferMethods);
  return kNames[static_cast<int>(method)];
}

bool is_possible(TransferMethod method, const Path& path) noexcept {
  if (path.from.memory == MemoryKind::Managed || path.to.memory == MemoryKind::Managed)
    return false;
  const PathLink link = link_of(path);
  const int devices = static_cast<int>(on_device(path.from)) + static_cast<int>(on_device(path.to));
  return std::ranges::any_of(kPossible, [&](const Possible& row) {
    return row.link == link && row.devices == devices && (row.methods & bit(method)) != 0;
  });
}

}  // namespace strake::machine
