#include "exchange/choice/forced.hpp"

#include <algorithm>
#include <iterator>

#include "machine/transports.hpp"
#include "settings/settings.hpp"

namespace strake::exchange {
namespace {

constexpr Forced kForced[] = {
    {.transport = Transport::Direct, .reads_all = true},
    // Packed messages go by memory that the receiver shares, where it can be.
    {.transport = Transport::Shared, .host_messages = Transport::Pack, .packs_pairs = true},
    {.transport = Transport::Put, .between_devices = Transport::Put},
    {.transport = Transport::Engine, .between_devices = Transport::Engine},
    {.transport = Transport::OneShot,
     .device_messages = Transport::OneShot,
     .between_devices = Transport::OneShot},
    {.transport = Transport::Staged,
     .device_messages = Transport::Staged,
     .between_devices = Transport::Staged},
    // Between devices it is the older name of put.
    {.transport = Transport::Device,
     .device_messages = Transport::Device,
     .between_devices = Transport::Put},
    {.transport = Transport::Pack,
     .host_messages = Transport::Pack,
     .between_devices = Transport::Staged,
     .packs_pairs = true},
    {.transport = Transport::Library,
     .host_messages = Transport::Library,
     .device_messages = Transport::Library},
};

}  // namespace

const Forced* forced_by(Transport transport) noexcept {
  const auto* const found = std::ranges::find(kForced, transport, &Forced::transport);
  return found == std::end(kForced) ? nullptr : found;
}

const Forced* forced() noexcept {
  const auto transport = machine::transport_named(settings::text(settings::Id::method));
  return transport ? forced_by(*transport) : nullptr;
}

}  // namespace strake::exchange
