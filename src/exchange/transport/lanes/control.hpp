/// \file  What the ranks of a node share in a planned exchange: how far each end is, where the
/// arrays lie, and room for packed bytes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace strake::exchange::planned {

/// The transfers between two memories go two ways: those that this rank sends, and those that it
/// receives.
enum : std::size_t { kSends = 0, kReceives = 1 };

enum class Offer : std::uint8_t {
  Open,
  Claimed,  ///< the taker is reading them, and will say so
  Back,     ///< they are packed: the giver waited too long, or the taker can't read them
};
[[nodiscard]] constexpr std::uint64_t offer_of(std::uint64_t number, Offer offer) noexcept {
  return number * 4 + static_cast<std::uint64_t>(offer);
}

/// One end of a lane, in the memory of its rank. Written by that rank alone, but for three words.
/// Exchanges count from 1 on, whichever way they go.
struct alignas(64) LaneEnd {
  std::atomic<std::uint64_t> given{0};  ///< the last exchange whose bytes are there
  std::atomic<std::uint64_t> taken{0};  ///< the last exchange whose bytes were taken
  /// Whether the given bytes that may be read in their arrays are to be; else all are packed. By
  /// the exchange's parity.
  std::array<std::atomic<std::uint16_t>, 2> in_place{};
  /// In the end of kReceives, by the peer, as its last access to this memory: it has left after as
  /// many rounds as it knows that this rank has.
  std::atomic<std::uint32_t> closed{0};
  std::atomic<std::uint64_t> rounds_and_kind{0};  ///< of its rank's Ending
  /// An exchange whose bytes are to be read in place, and its Offer. Both ends decide at once:
  /// each changes Open, and only Open, to what it wants.
  std::atomic<std::uint64_t> offer{0};
  std::atomic<std::uint64_t> packed{0};  ///< the last exchange whose bytes were packed after all
  /// By the peer or its device: its last round of mail.
  std::uint64_t mail = 0;
  std::atomic<std::uint64_t> cause{0};  ///< of its rank's Ending, which is written before
};
static_assert(sizeof(LaneEnd) == 64);

/// The two ends that a rank has of the lanes between two memories.
struct PairEnds {
  std::array<LaneEnd, 2> lanes;
};

/// Where an array is, in an exchange that its rank has given bytes of.
struct ArrayPlace {
  std::atomic<std::int32_t> region{-1};  ///< of sharing::Arenas
  std::atomic<std::uint32_t> generation{0};
  std::atomic<std::int64_t> offset{0};
};

}  // namespace strake::exchange::planned
