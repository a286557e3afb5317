/// \file  The words that the ranks of a node share in a planned exchange: how far each end is, and
/// where the arrays lie.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace strake::exchange::planned {

/// The transfers between two memories go two ways: those that this rank sends, and those that it
/// receives.
enum : std::size_t { kSends = 0, kReceives = 1 };

enum class OfferState : std::uint8_t {
  Open,
  Claimed,  ///< the receiver is reading them, and will say so
  Back,     ///< they are packed: the sender waited too long, or the receiver can't read them
};
[[nodiscard]] constexpr std::uint64_t offer_of(std::uint64_t number, OfferState offer) noexcept {
  return number * 4 + static_cast<std::uint64_t>(offer);
}

/// How far one end of a schedule is, in memory of its rank. This rank alone writes them, but for
/// three words. Rounds count from 1 on, whichever way they go.
struct alignas(64) SequenceCounters {
  std::atomic<std::uint64_t> posted{0};    ///< the last round whose bytes are there
  std::atomic<std::uint64_t> received{0};  ///< the last round whose bytes were received
  /// Whether the posted bytes that may be read in their arrays are to be; else all are packed. By
  /// the round's parity.
  std::array<std::atomic<std::uint16_t>, 2> in_place{};
  /// The peer writes this word of kReceives, as its last access to this memory: the peer has left
  /// after as many rounds as it knows that this rank has.
  std::atomic<std::uint32_t> closed{0};
  std::atomic<std::uint64_t> rounds_and_kind{0};  ///< of its rank's Ending
  /// A round whose bytes are to be read in place, and its OfferState. Both ends decide at once:
  /// each changes Open, and only Open, to what it wants.
  std::atomic<std::uint64_t> offer{0};
  std::atomic<std::uint64_t> packed{0};  ///< the last round whose bytes were packed after all
  /// The peer or its device writes it: its last completed put.
  std::uint64_t put = 0;
  std::atomic<std::uint64_t> cause{0};  ///< of its rank's Ending, which is written before
};
static_assert(sizeof(SequenceCounters) == 64);

/// The counters of a rank for the two schedules between two memories.
struct PairCounters {
  std::array<SequenceCounters, 2> schedules;
};

/// Where an array is, in the last round that its rank has posted bytes of.
struct ArrayPlace {
  std::atomic<std::int32_t> region{-1};  ///< of sharing::Arenas
  std::atomic<std::uint32_t> generation{0};
  std::atomic<std::int64_t> offset{0};
};

}  // namespace strake::exchange::planned
