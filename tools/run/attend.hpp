/// \file  Waits for a launcher, and passes signals on to it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>

#include "witness.hpp"

namespace strake::run {

/// Remembers SIGHUP, SIGINT, SIGQUIT and SIGTERM, the signals that end this command. A handler may
/// call it.
void note_if_ending(int signal) noexcept;
/// The last that was noted; 0: none.
[[nodiscard]] int ending_signal() noexcept;
/// Notes those that are pending.
void note_pending() noexcept;

/// While one exists, the signals of a job stay pending for attend(). All other threads must block
/// them.
class SignalsHeld {
 public:
  SignalsHeld() noexcept;
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  /// For the launcher, between fork and exec.
  void restore_mask() const noexcept;
  /// Takes a pending signal, or the first that comes within `patience`. False: none.
  bool take(siginfo_t& info, std::chrono::nanoseconds patience) const noexcept;

 private:
  sigset_t set_{};
  sigset_t before_{};
};

/// How a process ended.
struct ProcessEnd {
  int status = 0;          ///< its exit status, or 128 + the signal that ended it, as a shell does
  bool by_signal = false;  ///< known for this process alone: a launcher exits if a rank is killed
};
/// The end of a process with this wait status.
[[nodiscard]] ProcessEnd end_of(int wait_status) noexcept;

/// Waits until `launcher` ends, and passes on the signals that reach this process and not it.
[[nodiscard]] ProcessEnd attend(pid_t launcher, const Witness& witness, const SignalsHeld& held);

}  // namespace strake::run
