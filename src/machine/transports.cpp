#include "machine/transports.hpp"

#include <algorithm>
#include <array>
#include <deque>

#include "state/process_state.hpp"

namespace strake::machine {
namespace {

int ends_on_device(const Path& path) noexcept {
  return static_cast<int>(is_on_device(path.from)) + static_cast<int>(is_on_device(path.to));
}
bool is_between_devices_of_a_node(const Path& path) noexcept {
  const PathLink link = link_of(path);
  return link == PathLink::SameGpu || link == PathLink::PeerGpu;
}
bool is_on_host_of_a_node(const Path& path) noexcept {
  return link_of(path) == PathLink::Host && ends_on_device(path) == 0;
}
bool leaves_the_node(const Path& path) noexcept { return link_of(path) == PathLink::OtherNode; }

bool self_is_possible(const Path& path) noexcept { return link_of(path) == PathLink::SameMemory; }
bool direct_is_possible(const Path& path) noexcept {
  return is_between_devices_of_a_node(path) || is_on_host_of_a_node(path);
}
bool engine_is_possible(const Path& path) noexcept { return link_of(path) == PathLink::PeerGpu; }
/// Where one end is in host memory, that end packs there.
bool staging_is_possible(const Path& path) noexcept {
  return ends_on_device(path) > 0 && link_of(path) != PathLink::SameMemory;
}
bool device_is_possible(const Path& path) noexcept {
  return leaves_the_node(path) && ends_on_device(path) == 2;
}
bool pack_is_possible(const Path& path) noexcept {
  return leaves_the_node(path) && ends_on_device(path) == 0;
}
bool library_is_possible(const Path& /*path*/) noexcept { return true; }

constexpr std::array<TransportFacts, kTransports> kFacts = {{
    {Transport::Self, "self", "", "copied from layout to layout within one memory",
     self_is_possible, predict_self},
    {Transport::Direct, "direct", "", "copied by the receiver from the sender's memory",
     direct_is_possible, predict_direct},
    {Transport::Shared, "shared", "", "packed into memory that both ranks share",
     is_on_host_of_a_node, predict_shared},
    {Transport::Put, "put", "", "packed by kernels into the peer's device memory",
     is_between_devices_of_a_node, predict_put},
    {Transport::Engine, "engine", "", "packed in device memory, copied to the peer's by engines",
     engine_is_possible, predict_engine},
    {Transport::OneShot, "one-shot", "", "packed from device into host memory", staging_is_possible,
     predict_one_shot},
    {Transport::Staged, "staged", "", "packed in device memory, copied to host memory in pieces",
     staging_is_possible, predict_staged},
    {Transport::Device, "device", "", "packed in device memory", device_is_possible,
     predict_device},
    {Transport::Pack, "pack", "", "packed in host memory", pack_is_possible, predict_pack},
    {Transport::Library, "library", "system", "left to the MPI library", library_is_possible,
     nullptr},
}};

static_assert(std::ranges::all_of(kFacts, [number = 0](const TransportFacts& facts) mutable {
  return static_cast<int>(facts.transport) == number++;
}));

struct AddedTransports {
  std::deque<TransportFacts> all;
};
std::deque<TransportFacts>& added() { return ProcessState::part<AddedTransports>().all; }

}  // namespace

std::span<const TransportFacts> transports() noexcept { return kFacts; }

Transport add_transport(TransportFacts facts) {
  facts.transport = static_cast<Transport>(kFacts.size() + added().size());
  return added().emplace_back(facts).transport;
}

const TransportFacts& facts_of(Transport transport) noexcept {
  const auto number = static_cast<std::size_t>(transport);
  return number < kFacts.size() ? kFacts[number] : added()[number - kFacts.size()];
}

const char* name_of(Transport transport) noexcept { return facts_of(transport).name; }

std::optional<Transport> transport_named(std::string_view name) noexcept {
  for (const TransportFacts& facts : kFacts)
    if (name == facts.name || (!name.empty() && name == facts.alias)) return facts.transport;
  return std::nullopt;
}

bool is_possible(Transport transport, const Path& path) noexcept {
  return path.from.memory != MemoryKind::Managed && path.to.memory != MemoryKind::Managed &&
         facts_of(transport).possible(path);
}

}  // namespace strake::machine
