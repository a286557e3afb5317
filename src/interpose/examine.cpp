#include "interpose/examine.hpp"

#include <fmt/format.h>

#include <new>

#include "exchange/choice/choice_log.hpp"
#include "exchange/transport/mixed.hpp"
#include "interpose/requests.hpp"
#include "memory/host_pages.hpp"
#include "mpi/quirks.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::interpose {

bool can_leave(const Examined& found, const std::exception& error) noexcept {
  const bool memory = dynamic_cast<const OutOfMemory*>(&error) != nullptr ||
                      dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  if (!memory || !found.typed.place.in_host_memory() || found.typed.mixed) return false;
  log::info("{} bytes are left to the MPI library: {}", found.bytes, error.what());
  return true;
}

void log_left(Reason reason, std::int64_t bytes) noexcept {
  if (!log::enabled(log::Level::Info)) return;
  try {
    exchange::log_once(
        fmt::format("datatype of {} bytes: left to the MPI library; {}", bytes, name_of(reason)));
  } catch (...) {
  }
}

bool reachable(Place place) noexcept {
  return place.kind != MemoryKind::Device || device_backend()->usable(place.device);
}

bool lies_on_host(const void* buffer, std::int64_t lowest) noexcept {
  return known_as_host(reinterpret_cast<const void*>(address_of(buffer, lowest))) &&
         (buffer != nullptr || device_backend() == nullptr);
}

bool resolve(void* buffer, std::int64_t count, mpi::TypeRecord& record, Examined& result,
             bool* kept) {
  if (!record.decodable()) {
    result.reason = Reason::NotDecodable;
    log_left(Reason::NotDecodable, record.size_bytes());
    return false;
  }
  mpi::ElementsPtr elements = record.elements(count, kept);
  result.bytes = elements->size_bytes();
  if (result.bytes == 0) {
    result.reason = Reason::Empty;
    return false;
  }
  if (!plausible(buffer, elements->layout().bounds().begin)) {
    result.reason = Reason::BadArguments;
    return false;
  }
  result.lowest = elements->layout().bounds().begin;
  result.typed = {std::move(elements), static_cast<std::byte*>(buffer), {}, false};
  if (device_backend() != nullptr) {
    result.typed.mixed = !exchange::one_place(result.typed.elements->layout(), result.typed.address,
                                              result.typed.place);
    if (!result.typed.mixed && !reachable(result.typed.place)) {
      result.reason = Reason::NoKernels;
      return false;
    }
  }
  return true;
}

bool pack_for_sharing(Examined& found, const void* buffer, std::int64_t count, MPI_Datatype type) {
  if (!wants_sharing(found)) return false;
  Examined packed = found;
  if (found.transport == Transport::Library) {
    mpi::TypeRecord* const record = mpi::find_type(type);
    if (record == nullptr || !resolve(const_cast<void*>(buffer), count, *record, packed))
      return false;
  }
  const Place place = packed.typed.place;
  const bool device = place.kind == MemoryKind::Device;
  if (packed.typed.mixed || (!device && !place.in_host_memory())) return false;
  if (!device) packed.transport = Transport::Pack;
  packed.reason = Reason::None;
  found = packed;
  return true;
}

exchange::StartSend start_of(Function function) noexcept {
  const mpi::RealMpi& real = real_mpi();
  switch (function) {
    case Function::MPI_Ssend:
    case Function::MPI_Issend:
    case Function::MPI_Ssend_init:
      return real.MPI_Issend;
    case Function::MPI_Rsend:
    case Function::MPI_Irsend:
    case Function::MPI_Rsend_init:
      return real.MPI_Irsend;
    default:
      return real.MPI_Isend;
  }
}

std::optional<exchange::shared::Lease> lease_for(Examined& found, const void* buffer,
                                                 std::int64_t count, MPI_Datatype type,
                                                 const mpi::Envelope& to,
                                                 exchange::shared::Sender sender) {
  if (!wants_sharing(found)) return std::nullopt;
  exchange::shared::ShmEndpoint& endpoint = *exchange::shared::ShmEndpoint::get();
  const auto there = exchange::shared::destination(to);
  Examined packed = found;
  using exchange::shared::Sender;
  if (!found.offers && sender == Sender::Busy) sender = Sender::Idle;
  if (!there || !endpoint.directory().reaches(there->rank)) return std::nullopt;
  if (!pack_for_sharing(packed, buffer, count, type)) {
    if (packed.typed.place.kind == MemoryKind::Managed) endpoint.count(sharing::Declined::Managed);
    return std::nullopt;
  }
  auto lease = endpoint.lease(*there, packed.typed.elements->layout(), packed.typed.address,
                              packed.typed.place, sender);
  if (lease) found = packed;
  return lease;
}

void examine_elements(MessageDirection direction, Style style, void* buffer, std::int64_t count,
                      mpi::TypeRecord& record, Use use, Known& known, Examined& result) {
  bool kept = false;
  bool settled = true;
  if (!resolve(buffer, count, record, result, &kept)) return;
  mpi::Elements& elements = *result.typed.elements;
  const bool nonblocking = style == Style::Nonblocking;
  exchange::Choice choice = exchange::choose(elements, direction, result.typed.place, nonblocking);
  const bool may_change = choice.reason != Reason::Forced && choice.reason != Reason::Contiguous;
  const bool shareable = may_change && result.typed.place.in_host_memory() &&
                         exchange::shared::may_send_header(result.bytes);
  if ((choice.reason == Reason::BuiltInRule || shareable) && !result.typed.mixed) {
    settled = use != Use::Often;  // a persistent request: Operation tries at each start, or nobody
    if (settled) {
      auto* const endpoint = exchange::shared::ShmEndpoint::get();
      const bool offerable = shareable && direction == MessageDirection::Send &&
                             endpoint != nullptr &&
                             endpoint->would_offer(elements.layout(), result.typed.address);
      choice = trying::choose(elements, direction, nonblocking, {shareable, offerable}, choice,
                              &settled);
    }
  }
  result.transport = result.typed.mixed ? Transport::Pack : choice.transport;
  result.reason = choice.reason;
  result.shares = choice.shares;
  result.offers = choice.offers;
  if (result.transport == Transport::Library && direction == MessageDirection::Receive &&
      record.uneven()) {
    const bool free = choice.reason != Reason::Forced && result.typed.place.in_host_memory();
    result.as_bytes = elements.dense();
    if (!result.as_bytes && free && result.bytes > mpi::quirks::kOnePiece)
      result.transport = Transport::Pack;
  }
  if (result.transport != Transport::Library) result.reason = Reason::None;
  const bool plain = result.typed.place.kind == MemoryKind::Host && !result.typed.mixed;
  if (kept && settled && plain) known.settle(direction, result, &elements);
}

}  // namespace strake::interpose
