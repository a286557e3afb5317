/// \file  Header messages as MPI's messages: sent in place of long messages to ranks that share
/// memory, and told from other messages by who receives them.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "exchange/transport/shared/shm_endpoint.hpp"
#include "mpi/communicators.hpp"
#include "mpi/peers.hpp"
#include "mpi/quirks.hpp"
#include "mpi/wire.hpp"
#include "strake/place.hpp"

namespace strake::exchange::shared {

/// Whether a message of so many bytes may be a header message, or shall not be taken for one.
[[nodiscard]] inline bool like_header(std::int64_t bytes) noexcept {
  return is_header_length(bytes) && ShmEndpoint::get() != nullptr;
}

/// [bytes] Receives with less room are not looked at. 0 once one of them has failed for want of
/// room, and the program goes on (interpose/short_receives.hpp).
inline constinit std::atomic<std::int64_t> g_least_room{kShortestHeader};

/// Whether a header message may come to a receive with that room (negative: it is not known), and
/// is looked at.
[[nodiscard]] inline bool may_get_header(std::int64_t room) noexcept {
  return (room < 0 || room >= g_least_room.load(std::memory_order_relaxed)) &&
         ShmEndpoint::get() != nullptr;
}
/// [bytes] The room that the MPI library gets for a receive of `bytes` packed bytes into memory of
/// Strake's: for a header message at least, where the library does not tell the length of a message
/// that a receive was too short for. So a longer message is either found by Strake, which knows it,
/// or longer than any header message.
[[nodiscard]] inline std::int64_t room_of_packed(std::int64_t bytes) noexcept {
  const bool told = mpi::quirks::kTruncatedTellsLength || ShmEndpoint::get() == nullptr;
  return told ? bytes : std::max(bytes, kLongestHeader);
}
/// Whether receives with less room than the longest header message are given more, so that what
/// comes to them is known: from the first such error on.
[[nodiscard]] inline bool gives_room_for_headers() noexcept {
  return g_least_room.load(std::memory_order_relaxed) == 0 && ShmEndpoint::get() != nullptr;
}
/// Whether a message of so many bytes there may go by a header message.
[[nodiscard]] inline bool may_send_header(std::int64_t bytes, Place place = {}) noexcept {
  const ShmEndpoint* const endpoint = ShmEndpoint::get();
  return endpoint != nullptr && bytes >= endpoint->limit(place);
}

/// Where a send goes; nothing where header messages can't go: the process takes no part, the
/// communicator has no name, or there is no such rank.
[[nodiscard]] std::optional<Destination> destination(const mpi::Envelope& peer) noexcept;

/// The general case of add_placeholder().
bool add_placeholder_of_header_length(std::int64_t bytes, const mpi::Envelope& peer);
/// A send of `bytes` goes by MPI: to be called before it does. < 1 ns unless they are a
/// header message's. True: it has got a descriptor; drop_placeholder() if it is not sent after all.
inline bool add_placeholder(std::int64_t bytes, const mpi::Envelope& peer) {
  return like_header(bytes) && add_placeholder_of_header_length(bytes, peer);
}
/// The last send that has got a placeholder was refused.
inline void drop_placeholder() noexcept { ShmEndpoint::get()->send_segment().drop_placeholder(); }

/// Before a receive from a rank (negative: from any): takes its announcement, if there is one, and
/// gives it this rank's. False: no header message comes from there.
[[nodiscard]] bool expect(std::int32_t rank);
/// Before a receive from `source` (a rank, or MPI_ANY_SOURCE) is waited for: what is to be
/// remembered of its communicator, which may be freed before the message comes. Null: no header
/// message comes. The reference is valid as that of mpi::communicator().
[[nodiscard, gnu::always_inline]] inline const mpi::CommunicatorPtr& communicator_of_receive(
    std::int64_t room, int source, MPI_Comm comm) {
  if (!may_get_header(room)) return mpi::kNoCommunicator;
  const mpi::CommunicatorPtr& known = mpi::communicator(comm);
  if (known == nullptr) return known;
  const int rank = known->world_rank(source);
  if (rank >= 0 && ShmEndpoint::get()->directory().both_know(rank)) return known;
  return expect(rank) ? known : mpi::kNoCommunicator;
}

/// The first bytes of a message, where they can be looked at.
using Landed = std::array<std::byte, sizeof(Header)>;
/// Reads the first bytes of a message that has come to `data`, in `memory`. \throws CudaError
[[nodiscard]] Landed read_landed(const std::byte* data, MemoryKind memory);

/// Tells a status that so many bytes came.
void set_bytes(MPI_Status& status, std::int64_t bytes) noexcept;

/// How a probe has met a message before it was received.
enum class Met : std::uint8_t {
  No,
  Matched,  ///< by a probe, and received from there
  Dropped,  ///< by see_message()
};
/// Opens the message that a received message of a header message's size names: `landed` are its
/// first bytes, `status` is of its receive on `comm`, which was looked up (mpi::communicator) when
/// the receive was posted. Nothing: the received message is no header message.
/// \throws Error  the segment is not as it should be
[[nodiscard]] std::optional<Delivery> open(const MPI_Status& status,
                                           const mpi::CommunicatorPtr& comm, const Landed& landed,
                                           Met met = Met::No);
/// A message of so many bytes has come by MPI. A sender has told of the memory that it lies in,
/// from where the next one can be taken; but no header message says so where a rank shares less
/// memory.
inline void look_behind(std::int64_t bytes) {
  constexpr std::int64_t kLong = std::int64_t{1} << 20;  // a system call is nothing beside it
  ShmEndpoint* const endpoint = ShmEndpoint::get();
  if (bytes >= kLong && endpoint != nullptr) endpoint->directory().take_announcements();
}
/// As open(), for a received message of any size; `read()` gives its first bytes. `status` then
/// tells the bytes of the message that a header message names.
template <typename Read>
[[nodiscard]] std::optional<Delivery> look(MPI_Status& status, const mpi::CommunicatorPtr& comm,
                                           Met met, const Read& read) {
  if (comm == nullptr) return std::nullopt;
  const std::int64_t bytes = mpi::received_bytes(status);
  if (!like_header(bytes)) {
    look_behind(bytes);
    return std::nullopt;
  }
  std::optional<Delivery> delivery = open(status, comm, read(), met);
  if (delivery) set_bytes(status, delivery->bytes());
  return delivery;
}
/// A probe on `comm` has found a message of a header message's size. Others of that size from there
/// may have come to receives that nobody has looked at since: call PeerSegments::see() for those
/// first.
/// \{ Whether a message is a header message.
[[nodiscard]] bool is_header(const MPI_Status& received, const mpi::CommunicatorPtr& comm,
                             const Landed& landed);
/// A message of its own, by the status of its receive.
void see_message(const MPI_Status& received, const mpi::CommunicatorPtr& comm);
/// \}
/// The bytes of the message that the probe has found.
/// `matched`: and has matched, so that it is no longer the next.
[[nodiscard]] std::int64_t bytes_of_probed(const MPI_Status& probed,
                                           const mpi::CommunicatorPtr& comm, bool matched);

}  // namespace strake::exchange::shared
