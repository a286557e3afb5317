/// \file  Transfers between two ranks of a node through memory that both map: the receiver reads
/// arrays in place (direct), or packed bytes (shared; staged where arrays are in device memory,
/// which this rank's device packs and the CPU copies).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "exchange/transport/pairs/connections.hpp"
#include "exchange/transport/pairs/pair_transfer.hpp"

namespace strake::exchange::planned {

/// The ends tell each other how far they are by sequence counters (SequenceCounters), which are
/// numbers of rounds.
class SharedPair final : public PairTransfer {
 public:
  /// \param number     of the pair in `connections`, which reaches it and outlives this object
  /// \param reads      whether the peer may read this rank's arrays in place
  /// \param transport  of the bytes that are packed: Shared or Staged
  SharedPair(Schedules& schedules, Connections& connections, std::size_t number, bool reads,
             Transport transport) noexcept
      : PairTransfer({&schedules}),
        connections_(connections),
        number_(number),
        packs_all_{!reads, !reads},
        packed_(transport) {}

  void cancel() noexcept override;
  [[nodiscard]] Transport transport() const noexcept override;
  [[nodiscard]] std::string describe() const override;

 private:
  using Clock = std::chrono::steady_clock;
  bool pack() override;
  bool post() override;
  [[nodiscard]] Completion poll_sent() override;
  [[nodiscard]] bool poll() override;
  bool unpack() override;
  void unpacked() override;

  /// How many of the sent bytes the peer reads in place: as in the last round forward that has
  /// ended, or, before the first, if all arrays are shared.
  [[nodiscard]] std::int64_t bytes_in_place() const noexcept;
  void note(bool in_place) noexcept;
  /// This rank's end of a schedule, and the peer's. (This rank's sends are the peer's receives.)
  [[nodiscard]] SequenceCounters& own_counters(std::size_t which) const noexcept {
    return connections_.own_counters(number_, which);
  }
  [[nodiscard]] SequenceCounters& their_counters(std::size_t which) const noexcept {
    return connections_.their_counters(number_, 1 - which);
  }
  /// Where this round's packed bytes begin: those of two rounds that follow each other lie side by
  /// side.
  [[nodiscard]] std::int64_t packed_at(const PairSchedule& schedule) const noexcept {
    return static_cast<std::int64_t>(round().number % 2) * schedule.packed_bytes();
  }
  void pack_to_own(bool all);

  Connections& connections_;
  std::size_t number_;
  /// The last two rounds in which this rank posted bytes, by schedule.
  std::array<std::array<std::uint64_t, 2>, 2> posted_{};
  std::array<bool, 2> packs_all_;  ///< by schedule: the peer can't read this rank's arrays
  Transport packed_;
  bool in_place_ = false;  ///< this round's bytes are sent to be read in place
  bool repacks_ = false;   ///< this round's bytes were posted in place, and are packed after all
  bool asked_ = false;  ///< this rank can't read what it gets in place: it waits for packed bytes
  PairSchedule::Find find_;  ///< finds arrays that this rank reads in place; empty: none
  Clock::time_point patient_until_;
  enum class Went : std::uint8_t { Unknown, InPlace, Packed } went_ = Went::Unknown;
};

}  // namespace strake::exchange::planned
