/// \file  From a call's arguments to what is to be done about them.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>

#include "device/backend.hpp"
#include "device/loaded_objects.hpp"
#include "exchange/choice/choice.hpp"
#include "exchange/message/transfer.hpp"
#include "exchange/transport/mpi_channel.hpp"
#include "exchange/transport/shared/header_messages.hpp"
#include "interpose/boundary.hpp"
#include "interpose/counters.hpp"
#include "interpose/found.hpp"
#include "interpose/receive.hpp"
#include "interpose/times.hpp"
#include "memory/first_page.hpp"
#include "memory/per_thread.hpp"
#include "mpi/types.hpp"

namespace strake::interpose {

using exchange::Typed;
using mpi::Use;

/// Whether the call may wait for its message; a choice depends on it.
enum class Style : std::uint8_t { Blocking, Nonblocking };

/// Found, with the typed bytes themselves.
struct Examined : Found {
  Typed typed;  ///< set unless the transport is Library
};

/// Whether there can be memory `offset` bytes after `base`: at no address that a null pointer leads
/// to, forwards or backwards.
inline bool plausible(const void* base, std::int64_t offset) noexcept {
  return static_cast<std::int64_t>(address_of(base, offset)) >=
         static_cast<std::int64_t>(kFirstPage);
}

/// Logs that elements of so many bytes are left to the MPI library, once, if STRAKE_LOG is info.
void log_left(Reason reason, std::int64_t bytes) noexcept;

/// Whether Strake can copy there: not in the memory of a device without kernels for it.
[[nodiscard]] bool reachable(Place place) noexcept;
/// Finds the typed bytes and where they lie. False where that can't be said: the MPI library gets
/// the call, and `result` says why.
bool resolve(void* buffer, std::int64_t count, mpi::TypeRecord& record, Examined& result,
             bool* kept = nullptr);

/// A send that would be left to the MPI library for its time, and that memory shared with its
/// receiver may carry instead.
inline bool may_be_shared(const Found& found) noexcept {
  return found.shares && exchange::is_about_speed(found.reason) &&
         exchange::shared::may_send_header(found.bytes);
}

inline Passes passes_at_once(MessageDirection direction, const Found& found) noexcept {
  if (found.transport != Transport::Library || found.as_bytes || found.reason == Reason::Empty)
    return Passes::No;
  // Messages shorter than that are never shared (STRAKE_SHARE_LIMIT), and get no header message.
  if (found.bytes < exchange::shared::kShortestHeader) return Passes::AtOnce;
  const bool touched = direction == MessageDirection::Receive || may_be_shared(found) ||
                       exchange::shared::is_header_length(found.bytes);
  return touched ? Passes::Unshared : Passes::AtOnce;
}

/// A thread's cache entry for a datatype, count, direction and style: the only cache between a call
/// and its transport. An entry is void once mpi::g_type_generation has moved on.
struct alignas(64) Known {
  std::uint64_t key = 0;
  std::uint64_t generation = 0;
  std::int64_t count = 0;
  mpi::TypeRecord* record = nullptr;    ///< null: a type that was never committed here
  mpi::Elements* elements = nullptr;    ///< of a settled one; null: contiguous
  Found found = {.bytes = kUnsettled};  ///< if settled, right for all plain host memory

  [[nodiscard]] bool settled() const noexcept { return found.bytes != kUnsettled; }
  void settle(MessageDirection direction, const Found& what, mpi::Elements* of) {
    found = what;
    found.passes = passes_at_once(direction, what);
    elements = of;
  }

 private:
  static constexpr std::int64_t kUnsettled = -1;
};
static_assert(sizeof(Known) == 64, "one line of the cache");
using KnownTypes = std::array<mpi::TypeSlots<Known>, 4>;

inline bool is_of(const Known& known, MPI_Datatype type, std::int64_t count,
                  std::uint64_t generation) noexcept {
  return known.key == mpi::key_of(type) && known.count == count && known.generation == generation;
}
inline bool is_of(const Known& known, MPI_Datatype type, std::int64_t count) noexcept {
  return is_of(known, type, count, mpi::g_type_generation.load(std::memory_order_acquire));
}
inline mpi::TypeSlots<Known>& known_types(MessageDirection direction, Style style) {
  const int row = static_cast<int>(direction) * 2 + static_cast<int>(style);
  return PerThread<KnownTypes>::get()[static_cast<std::size_t>(row)];
}
/// Returns what this thread's table has of a datatype and a count; null: nothing.
inline Known* find_known(MessageDirection direction, Style style, MPI_Datatype type,
                         std::int64_t count) {
  auto& slots = known_types(direction, style);
  const std::size_t home = mpi::type_slot(type, count);
  const std::uint64_t generation = mpi::g_type_generation.load(std::memory_order_acquire);
  if (is_of(slots[home], type, count, generation)) return &slots[home];
  Known& other = slots[home ^ 1];
  return is_of(other, type, count, generation) ? &other : nullptr;
}
/// The place in this thread's table for a datatype and a count; something else may lie there.
inline Known& known_slot(MessageDirection direction, Style style, MPI_Datatype type,
                         std::int64_t count) {
  if (Known* const known = find_known(direction, style, type, count)) return *known;
  auto& slots = known_types(direction, style);
  const std::size_t home = mpi::type_slot(type, count);
  const std::uint64_t generation = mpi::g_type_generation.load(std::memory_order_acquire);
  // With one slot a type, a third of 104 types would collide.
  Known& other = slots[home ^ 1];
  const bool free = other.generation != generation || slots[home].generation == generation;
  return free ? other : slots[home];
}
/// The general case of `examine`.
void examine_elements(MessageDirection direction, Style style, void* buffer, std::int64_t count,
                      mpi::TypeRecord& record, Use use, Known& known, Examined& result);

/// Returns why `count` elements of a type without a record are left to the MPI library, and their
/// size if it is known.
inline Found left_without_record(const mpi::InUse& type, std::int64_t count) noexcept {
  if (type.new_size < 0) return {.reason = Reason::UnknownType};
  log_left(Reason::FewUses, type.new_size);
  return {.bytes = type.new_size * count, .reason = Reason::FewUses};
}

/// Whether what was found for plain host memory holds for a buffer: always without a device. With
/// one the page of its first byte must be known, and under MPI_BOTTOM (null) there are others. ~5
/// ns.
[[nodiscard]] bool lies_on_host(const void* buffer, std::int64_t lowest) noexcept;

/// Returns what earlier calls found, if it holds for the buffer; else null.
inline const Known* known_before(MessageDirection direction, Style style, const void* buffer,
                                 std::int64_t count, MPI_Datatype type) {
  const Known* const known = find_known(direction, style, type, count);
  const bool holds = known != nullptr && known->settled() &&
                     plausible(buffer, known->found.lowest) &&
                     (no_object_since() || lies_on_host(buffer, known->found.lowest));
  return holds ? known : nullptr;
}
/// known_before() of a message that begins.
inline const Known* found_before(MessageDirection direction, Style style, const void* buffer,
                                 std::int64_t count, MPI_Datatype type) {
  trying::begin();
  return known_before(direction, style, buffer, count, type);
}
/// The result of examining a message to or from MPI_PROC_NULL.
inline constexpr Found kNobody{.reason = Reason::Empty};
/// Returns what is `known` (null: nothing) of a message that is to be left to the MPI library; else
/// null.
inline const Found* left_by(const Known* known, int rank) noexcept {
  if (rank == MPI_PROC_NULL) return &kNobody;
  return known != nullptr && known->found.transport == Transport::Library ? &known->found : nullptr;
}
/// Returns what earlier calls found, if the message is to be left to the MPI library; else null.
inline const Found* left_before(MessageDirection direction, Style style, int rank,
                                const void* buffer, std::int64_t count, MPI_Datatype type) {
  if (rank == MPI_PROC_NULL) return &kNobody;
  return left_by(found_before(direction, style, buffer, count, type), rank);
}

/// Returns what examine() would of a message in plain host memory of which this is known.
inline Examined examined(const Known& known, const void* buffer) {
  Examined result;
  static_cast<Found&>(result) = known.found;
  if (result.transport != Transport::Library) {
    result.typed = {known.elements->shared_from_this(),
                    static_cast<std::byte*>(const_cast<void*>(buffer)),
                    {},
                    false};
  }
  return result;
}
inline Use use_of(MessageDirection direction) noexcept {
  return direction == MessageDirection::Receive ? Use::Receive : Use::Other;
}
/// examine() for a message of which found_before() knows nothing.
inline Examined examine_new(MessageDirection direction, Style style, const void* buffer,
                            std::int64_t count, MPI_Datatype type, Use use) {
  Examined result;
  if (count <= 0) {
    result.reason = count == 0 ? Reason::Empty : Reason::BadArguments;
    return result;
  }
  Known& known = known_slot(direction, style, type, count);
  if (known.record == nullptr || !is_of(known, type, count)) {
    const std::uint64_t generation = mpi::g_type_generation.load(std::memory_order_acquire);
    const mpi::InUse found = mpi::use_type(type, count, use);
    if (found.record == nullptr) {
      static_cast<Found&>(result) = left_without_record(found, count);
      return result;
    }
    known = {mpi::key_of(type), generation, count, found.record};
  }
  mpi::TypeRecord* const record = known.record;
  if (!record->ready(type, count, use)) {
    result.reason = Reason::FewUses;
    log_left(Reason::FewUses, record->size_bytes());
    result.bytes = record->size_bytes() * count;
  } else if (record->contiguous() && device_backend() == nullptr) {
    result.reason = Reason::Contiguous;
    result.bytes = record->size_bytes() * count;
    result.as_bytes = direction == MessageDirection::Receive && record->uneven();
    known.settle(direction, result, nullptr);
  } else {
    examine_elements(direction, style, const_cast<void*>(buffer), count, *record, use, known,
                     result);
  }
  return result;
}

/// ~10 ns for what was asked before of plain host memory.
inline Examined examine(MessageDirection direction, Style style, const void* buffer,
                        std::int64_t count, MPI_Datatype type, Use use) {
  const Known* const before = found_before(direction, style, buffer, count, type);
  return before != nullptr ? examined(*before, buffer)
                           : examine_new(direction, style, buffer, count, type, use);
}
inline Examined examine(MessageDirection direction, Style style, const void* buffer,
                        std::int64_t count, MPI_Datatype type) {
  return examine(direction, style, buffer, count, type, use_of(direction));
}

/// Whether `error` says that there is no memory, and the call can be left to the MPI library, which
/// packs as it goes. Device memory has had its other transport by then.
[[nodiscard]] bool can_leave(const Examined& found, const std::exception& error) noexcept;

/// A send that shared memory may carry: it would be packed, or left as above.
inline bool wants_sharing(const Examined& found) noexcept {
  return may_be_shared(found) ||
         (found.shares && found.transport != Transport::Library &&
          exchange::shared::may_send_header(found.bytes, found.typed.place));
}
/// As take() below, of any transport.
template <typename Make>
bool try_to_take(Examined& found, Make&& make) {
  try {
    make();
    return found.transport != Transport::Library;
  } catch (const std::exception& error) {
    if (!can_leave(found, error)) throw;
    found.transport = Transport::Library;
    found.reason = Reason::OutOfMemory;
    return false;
  }
}

/// Runs `make`, which takes what the transport needs, before the MPI library is asked for anything.
/// False: the call is left to the MPI library, as `found` then says.
template <typename Make>
bool take(Examined& found, Make&& make) {
  return found.transport != Transport::Library && try_to_take(found, make);
}
/// take() for a send that `make` begins by begin_send(): shared memory may carry it where its
/// transport is Library.
template <typename Make>
bool take_send(Examined& found, Make&& make) {
  return (found.transport != Transport::Library || may_be_shared(found)) &&
         try_to_take(found, make);
}

/// Changes the transport of a receive to which a header message may come. A receive that gets room
/// for one is left to the MPI library. A receive into a device's memory goes by one-shot: the host
/// can read the header message sooner. Any other message takes one more step then, so receives of
/// more than kMost bytes stay as they are.
inline void prepare_for_header(Examined& found, const Receive& receive) {
  if (found.transport != Transport::Library && receive.gives_room(found.bytes) &&
      receive.communicator_with(found.bytes) != nullptr) {
    found.transport = Transport::Library;
    found.reason = Reason::BuiltInRule;
    return;
  }
  constexpr std::int64_t kMost = 16 << 20;
  if (found.transport != Transport::Device || found.bytes > kMost) return;
  const exchange::Forced* const forced = exchange::forced();
  if (forced != nullptr && forced->device_messages == Transport::Device) return;
  const auto* const endpoint = exchange::shared::ShmEndpoint::get();
  if (endpoint != nullptr && endpoint->shares_devices() &&
      receive.communicator_with(found.bytes) != nullptr)
    found.transport = Transport::OneShot;
}

/// Makes the transfer, which takes found.typed, and starts it; does nothing for one that is left to
/// the MPI library.
/// \throws OutOfMemory, CudaError
inline void begin_packed(MessageDirection direction, Examined& found,
                         std::optional<exchange::Transfer>& transfer) {
  if (found.transport == Transport::Library) return;
  transfer.emplace(direction, std::move(found.typed), found.transport);
  transfer->start();
}

/// A send that wants_sharing(), as one that is packed, if it lies in host memory or all in a
/// device's. False: it is no such send, and nothing is changed.
bool pack_for_sharing(Examined& found, const void* buffer, std::int64_t count, MPI_Datatype type);
/// The nonblocking function of a send's mode.
[[nodiscard]] exchange::StartSend start_of(Function function) noexcept;
/// The place of a send that goes by shared memory, if it can; then `found` is of that. Nothing: it
/// can't, and nothing is changed. The call that takes the parcel must not wait for the receiver.
std::optional<exchange::shared::Lease> lease_for(Examined& found, const void* buffer,
                                                 std::int64_t count, MPI_Datatype type,
                                                 const mpi::Envelope& to,
                                                 exchange::shared::Sender sender);
/// Makes the transfer of a send, and starts it. \throws OutOfMemory, CudaError
inline void begin_send(Examined& found, const void* buffer, std::int64_t count, MPI_Datatype type,
                       const mpi::Envelope& to, exchange::shared::Sender sender,
                       std::optional<exchange::Transfer>& transfer) {
  const auto lease = lease_for(found, buffer, count, type, to, sender);
  if (!lease) return begin_packed(MessageDirection::Send, found, transfer);
  transfer.emplace(std::move(found.typed), *lease);
  transfer->start();
}

/// Counts what was decided.
inline void note(Function function, Transport transport, Reason reason,
                 std::int64_t bytes) noexcept {
  reason == Reason::Empty ? times::note_nothing() : times::note_transport(transport);
  record({function, transport, reason, bytes});
}

/// Leaves the call to the MPI library, as was found.
template <typename PassOn>
int leave_to(const PassOn& pass_on, Function function, const Found& found) {
  note(function, Transport::Library, found.reason, found.bytes);
  return pass_on();
}
/// Leaves a receive to the MPI library: `call(buffer, count, type)` asks for it.
template <typename Call, typename Count>
int post(const Call& call, const Found& found, void* buffer, Count count, MPI_Datatype type) {
  if (!found.as_bytes || found.bytes > std::numeric_limits<Count>::max()) {
    return call(buffer, count, type);
  }
  return call(reinterpret_cast<void*>(address_of(buffer, found.lowest)),
              static_cast<Count>(found.bytes), MPI_BYTE);
}
/// The room of a receive; negative where it is not known. [bytes]
inline std::int64_t room_of(const Found& found) noexcept {
  return found.bytes > 0 || found.reason == Reason::Empty ? found.bytes : -1;
}
/// How a receive comes that is watched.
enum class Watched : std::uint8_t {
  Once,
  Persistent,
  InPlace,  ///< it also sends from its buffer, so it always comes there
};
/// Enters a receive that is left to the MPI library, since a header message may come to it:
/// `ask(buffer, count, type)` makes its request, or one that may be started.
template <typename Ask, typename Count>
int watch(Function function, const Found& found, void* buffer, Count count, MPI_Datatype type,
          const Receive& asked, const MPI_Request* request, const Ask& ask,
          Watched how = Watched::Once) {
  const std::int64_t room = room_of(found);
  const bool gives_room = how != Watched::InPlace && asked.gives_room(room);
  const auto call = [&] { return post(ask, found, buffer, count, type); };
  if ((!exchange::shared::may_get_header(room) && !gives_room) || asked.source() == MPI_PROC_NULL)
    return call();
  const bool persistent = how == Watched::Persistent;
  OwnedPending pending = PendingPool::get().make(function, found.reason, asked);
  Receive& receive = pending->receive;
  if (!receive.expect(room)) {
    if (!persistent && found.reason != Reason::None)
      note(function, Transport::Library, found.reason, found.bytes);
    return call();
  }
  if (gives_room) receive.place(buffer, count, type, found, true);
  constexpr auto kRoom = static_cast<Count>(exchange::shared::kLongestHeader);
  const int code = gives_room ? ask(receive.landing()->own(), kRoom, MPI_BYTE) : call();
  if (code != MPI_SUCCESS || *request == MPI_REQUEST_NULL) return code;
  if (!gives_room) receive.place(buffer, count, type, found);
  if (persistent) pending->kind = RequestEntry::Kind::Persistent;
  pending->active = !persistent;
  pending->plain = how == Watched::Once && !gives_room && receive.met() == Met::No;
  enter_pending(*request, std::move(pending));
  return code;
}

}  // namespace strake::interpose
