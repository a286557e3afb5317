/// \file  The memory that a rank shares with the other ranks of its node behind its control block:
/// descriptors, one for each message that it has sent and that was not received yet, and the memory
/// that their bytes are packed into. The sender writes a descriptor, makes it live, and sends a
/// header message, which is an ordinary message of MPI's that names the descriptor: so MPI matches,
/// orders and cancels it. The receiver takes the bytes from the segment, and sets the descriptor to
/// Done; then the sender uses it again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "exchange/peers/control.hpp"
#include "exchange/transport/shared/lengths.hpp"

namespace strake::exchange::shared {

inline constexpr std::uint32_t kDescriptors = 1024;

/// Bytes that the wire may use behind a header message.
inline constexpr std::int64_t kHeaderRoom = 96;

/// [bytes] What is packed before the other side, or the next step, has it. Small enough for both to
/// find it in a cache.
inline constexpr std::int64_t kPiece = 64 << 10;

/// A header message begins with this; its other bytes are without meaning.
struct Header {
  std::uint64_t nonce = 0;  ///< the segment's
  std::uint32_t descriptor = 0;
  std::uint32_t generation = 0;
};

enum class State : std::uint32_t {
  Free,  ///< the sender's
  Live,  ///< the receiver's, who may not know of it yet
  Seen,  ///< the same; it was matched, so that no probe will find it
  Done,  ///< the sender's again
};

/// Whether the receiver may take a message from where it lies in the sender's memory, instead of
/// packed bytes. Both sides decide at once: each changes Open, and only Open, to what it wants.
enum class Offer : std::uint32_t {
  None,
  Open,
  Claimed,  ///< the receiver, which has set Seen before, takes it, and the descriptor will be Done
  Back,     ///< the sender packs it, now
};

/// One message. Written by the sender while it is free; then only `state` (by the receiver),
/// `packed` and `offer` change. Others may read at any time: what they read holds if state and
/// generation are as they were before.
struct alignas(64) Descriptor {
  std::atomic<State> state{State::Free};
  std::atomic<std::uint32_t> generation{0};  ///< counts the descriptor's messages
  std::atomic<std::int32_t> to{0};           ///< rank in MPI_COMM_WORLD
  std::atomic<std::int32_t> tag{0};
  std::atomic<std::uint64_t> comm{0};      ///< the communicator's name (mpi/communicators.hpp)
  std::atomic<std::uint64_t> sequence{0};  ///< of all that the sender has sent by descriptors
  std::atomic<std::int64_t> bytes{0};
  std::atomic<std::int64_t> at{0};      ///< offset in the segment; kNoRoom, kCameByMpi
  std::atomic<std::int64_t> length{0};  ///< of the message of MPI's
  /// How many bytes are packed; kFailed: no more will come.
  alignas(64) std::atomic<std::int64_t> packed{0};
  std::atomic<Offer> offer{Offer::None};
  /// \{ An offer to another rank: an allocation of the sender's, the offset in it that the layout
  /// counts from, and the layout, encoded, in the segment.
  std::atomic<std::int32_t> region{0};
  std::atomic<std::uint32_t> region_generation{0};
  std::atomic<std::uint32_t> changed{0};  ///< of any message: announcements wait for the receiver
  std::atomic<std::int64_t> base{0};
  std::atomic<std::int64_t> layout_at{0};
  std::atomic<std::int64_t> layout_words{0};
  std::atomic<std::uint64_t> layout_lo{0};  ///< its hash
  std::atomic<std::uint64_t> layout_hi{0};
  /// \}
};
static_assert(sizeof(Descriptor) == 128, "two lines of the cache");
inline constexpr std::int64_t kFailed = -1;
inline constexpr std::int64_t kNoRoom = 0;  ///< an offer: there is none unless the sender packs it
inline constexpr std::int64_t kCameByMpi = -1;
static_assert(std::atomic<State>::is_always_lock_free);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

/// Behind the descriptors come header messages, each in a place of kLongestHeader + kHeaderRoom; a
/// word for each rank of MPI_COMM_WORLD, which says where this rank's ring of cells for it is
/// (cells.hpp); and the packed bytes.
struct DescriptorTable {
  std::atomic<std::uint32_t> descriptors_used{
      0};  ///< the descriptors before this one were ever used
  std::array<Descriptor, kDescriptors> descriptors;
};
inline constexpr std::int64_t kHeaderPlace = kLongestHeader + kHeaderRoom;

/// Where the parts of a segment with messages begin. [bytes]
struct Parts {
  std::int64_t table;
  std::int64_t headers;
  std::int64_t rings;
  std::int64_t bytes;

  explicit constexpr Parts(std::int32_t ranks) noexcept
      : table(peers::ControlParts(ranks, true).payload),
        headers(peers::ControlParts::rounded(table + std::int64_t{sizeof(DescriptorTable)})),
        rings(peers::ControlParts::rounded(headers + kDescriptors * kHeaderPlace)),
        bytes(peers::ControlParts::rounded(rings + ranks * std::int64_t{sizeof(std::int64_t)})) {}

  /// Size of the part behind the control block, with so many packed bytes.
  [[nodiscard]] constexpr std::int64_t payload(std::int64_t packed_bytes) const noexcept {
    return bytes - table + packed_bytes;
  }
};

}  // namespace strake::exchange::shared
