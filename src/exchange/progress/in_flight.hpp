/// \file  The registry of what is in flight in this process beside what a call is for: planned
/// exchanges, requests that were freed, messages. Each call of a front end that asks, or may have
/// waited, advances all of it, in this core and in the others of the process (decisions 14 and 24).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace strake::exchange {

/// Advances what is in flight of one kind.
class Mover {
 public:
  /// Takes the next steps that need no waiting. Any thread's call; no lock is held.
  virtual void advance() noexcept = 0;

 protected:
  ~Mover() = default;
};

/// A core of the process, as it tells another one. All versions have this form of it.
struct CoreLink {
  const char* version;          ///< of Strake
  void (*advance)();            ///< advances what is in flight in that core
  std::atomic<int>* in_flight;  ///< while it is not 0, calls of that core advance the other cores
};
/// By this function, which the interposer exports, a library's core gives its link, and gets the
/// interposer's; null: there are too many cores.
inline constexpr const char* kMeetFunction = "strake_core_meet_1";
using MeetFunction = const CoreLink* (*)(const CoreLink* theirs);

/// The registry of one core. Threads may share it.
class InFlight {
 public:
  /// \{ advance() asks `mover`, too, from now on; it lives as long as the process. There are at
  /// most kMost.
  void add(Mover& mover) noexcept;
  static constexpr std::size_t kMost = 4;
  /// \}
  /// \{ One thing more, or less, that moves in calls for other things. < 10 ns.
  void begin() noexcept { change(1); }
  void end() noexcept { change(-1); }
  /// \}
  /// Whether there is none, here or in a core that has met this one. < 1 ns.
  [[nodiscard]] bool idle() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }
  /// How many there are.
  [[nodiscard]] int count() const noexcept { return count_.load(std::memory_order_relaxed); }
  /// Advances all that is in flight in this core. Does nothing inside itself.
  void advance_own() noexcept;
  /// Advances what is in flight in the other cores. Does nothing inside advance_own().
  void advance_others() noexcept;
  /// advance_own(), then advance_others().
  void advance() noexcept;

  /// Returns this core as others see it.
  [[nodiscard]] const CoreLink* link() noexcept;
  /// A library's core looks for the interposer's, once. Neither is ever unloaded.
  void meet_interposer();
  /// The interposer's core takes a library's. False: there are too many.
  [[nodiscard]] bool add_core(const CoreLink* other) noexcept;

 private:
  void change(int by) noexcept {
    count_.fetch_add(by, std::memory_order_relaxed);
    if (const CoreLink* const met = met_.load(std::memory_order_acquire))
      met->in_flight->fetch_add(by, std::memory_order_relaxed);
  }

  std::atomic<int> count_{0};
  std::array<std::atomic<Mover*>, kMost> movers_{};
  std::atomic<const CoreLink*> met_{nullptr};  ///< the interposer's, in a library's core
  static constexpr std::size_t kMostCores = 8;
  std::array<std::atomic<const CoreLink*>, kMostCores> cores_{};  ///< in the interposer's
};

/// This core's.
inline constinit InFlight g_in_flight;

}  // namespace strake::exchange
