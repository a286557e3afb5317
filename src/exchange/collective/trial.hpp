/// \file  Which of two ways a blocking collective call of one kind takes on one communicator: the
/// MPI library's own, or pair by pair. The first calls go pair by pair, until memory is there and
/// known to the other ranks; the next ones try both; then all ranks decide together. Later they try
/// again, now and then, since calls change.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace strake::exchange {

enum class Way : std::uint8_t { Library, Pairs, Relayed };

/// The times of calls that were alike. [ns]
struct WayTimes {
  std::vector<std::int64_t> of[3];  ///< by Way

  void add(Way way, std::int64_t ns) { of[static_cast<int>(way)].push_back(ns); }
};

/// One thread at a time. All ranks of the communicator make the same calls in the same order.
class Trial {
 public:
  /// \param first  the way that is taken while nothing was measured
  Trial(Way first, bool tries) noexcept : way_(first), tries_(tries), trying_(tries) {}
  /// Whether the next call, blocking or not, is left to the MPI library, as was decided. Counts a
  /// blocking one. ~2 ns.
  [[nodiscard]] bool leaves(bool blocking) noexcept {
    if (way_ != Way::Library || (blocking && trying_)) return false;
    if (blocking) count();
    return !(blocking && trying_);
  }
  /// Whether the next blocking call is one that decides.
  [[nodiscard]] bool decides() const noexcept { return trying_ && calls_ >= length_; }
  /// The times of calls that are like none before.
  [[nodiscard]] WayTimes& others() noexcept { return others_; }
  /// All ranks decide by all their times, those of others() among them: `mine` holds, for each kind
  /// of call, the times of this rank. Collective. \throws MpiError
  void decide(MPI_Comm comm, const std::vector<const WayTimes*>& mine);
  /// The way of the next blocking call.
  [[nodiscard]] Way next() noexcept;
  /// Whether the call that next() was asked for last is to be timed.
  [[nodiscard]] bool times() const noexcept { return trying_ && calls_ > kWarm; }

 private:
  static constexpr unsigned kWarm = 8;      ///< calls before the first trial
  static constexpr unsigned kFirst = 24;    ///< calls of the first trial
  static constexpr unsigned kLater = 8;     ///< calls of later ones
  static constexpr unsigned kUntil = 4096;  ///< calls between trials
  /// The next trial begins in time.
  void count() noexcept {
    if (!tries_ || ++calls_ < kUntil) return;
    trying_ = true;
    length_ = kWarm + kLater;
    calls_ = kWarm;
  }

  Way way_;
  bool tries_;
  bool trying_;
  unsigned length_ = kWarm + kFirst;
  WayTimes others_;
  unsigned calls_ = 0;  ///< of this trial, or since the last one
};

}  // namespace strake::exchange
