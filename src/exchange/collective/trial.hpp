/// \file  Which of several ways a blocking collective call of one kind takes on one communicator:
/// the MPI library's own, pair by pair, or relayed. The first calls go pair by pair, until memory
/// is there and known to the other ranks; the next ones try all of them; then all ranks decide
/// together. Later they try again, now and then, since calls change.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace strake::exchange {

enum class CollectiveWay : std::uint8_t {
  Library,
  Pairs,
  Relayed,  ///< pair by pair within nodes, one message between two nodes
};
inline constexpr std::size_t kWays = 3;

/// One thread at a time. All ranks of the communicator make the same calls in the same order.
class Trial {
 public:
  /// \param first   the way that is taken while nothing was measured
  /// \param relays  whether calls can be relayed
  Trial(CollectiveWay first, bool tries, bool relays = false) noexcept
      : way_(first), tries_(tries), trying_(tries), ways_(relays ? 3 : 2) {}
  /// Whether the next call, blocking or not, is left to the MPI library, as was decided. Counts a
  /// blocking one. ~2 ns.
  [[nodiscard]] bool leaves(bool blocking) noexcept {
    if (way_ != CollectiveWay::Library || (blocking && trying_)) return false;
    if (blocking) count();
    return !(blocking && trying_);
  }
  /// Whether the next blocking call is one that decides.
  [[nodiscard]] bool decides() const noexcept { return trying_ && calls_ >= length(); }
  /// A call took so long. Calls are compared with those of the same `shape`, a number that this
  /// rank alone gives them: a program's calls may be long and short in turn.
  void add(std::uint64_t shape, CollectiveWay way, std::int64_t ns) noexcept;
  /// All ranks decide by all their times. Collective. \throws MpiError
  void decide(MPI_Comm comm);
  /// The way of the next blocking call.
  [[nodiscard]] CollectiveWay next() noexcept;
  /// Whether the call that next() was asked for last is to be timed: it is none that follows one of
  /// another way, as that has left its own bytes in the caches.
  [[nodiscard]] bool times() const noexcept {
    return trying_ && calls_ > kWarm && (calls_ - kWarm) % kBlock != 1;
  }

 private:
  static constexpr unsigned kWarm = 8;  ///< calls before the first trial
  /// Calls that go one way, one after the other. Programs whose calls have a period of 2, 3 or 4
  /// have each of them timed.
  static constexpr unsigned kBlock = 5;
  /// \{ Calls between trials: as many as make trials add kCost to the time of all calls. So a way
  /// that was a little slower is tried again soon.
  static constexpr double kCost = 0.005;
  static constexpr unsigned kSoonest = 128;
  static constexpr unsigned kLatest = 1U << 16U;
  static constexpr unsigned kUntold = 4096;  ///< where no shape of call was timed by all ways
  /// \}
  /// Each way has two blocks.
  [[nodiscard]] unsigned length() const noexcept { return kWarm + 2 * ways_ * kBlock; }
  /// The next trial begins in time.
  void count() noexcept {
    if (!tries_ || ++calls_ < until_) return;
    trying_ = true;
    calls_ = kWarm;
  }

  CollectiveWay way_;
  bool tries_;
  bool trying_;
  unsigned until_ = kUntold;
  unsigned ways_;  ///< how many of the enum's are tried
  using WayTimes = std::array<std::vector<std::int64_t>, kWays>;  ///< [ns]
  std::map<std::uint64_t, WayTimes> times_;                       ///< by shape
  unsigned calls_ = 0;  ///< of this trial, or since the last one
};

}  // namespace strake::exchange
