#include "attend.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <optional>

namespace strake::run {
namespace {

volatile sig_atomic_t g_ending = 0;

/// Which signals to pass on, and when.
class Forwarding {
 public:
  using Clock = std::chrono::steady_clock;

  /// This process got it: the launcher has it already if the witness has, about now.
  void got(int signal) {
    State& state = states_[static_cast<std::size_t>(signal)];
    const auto now = Clock::now();
    if (state.witnessed && now - *state.witnessed < kGrace) return;
    if (!state.due) state.due = now + kGrace;
  }
  void witnessed(int signal) {
    State& state = states_.at(static_cast<std::size_t>(signal));
    state.witnessed = Clock::now();
    state.due.reset();
  }
  void pass_on_due(pid_t launcher) {
    for (const int signal : kForwarded) {
      auto& due = states_[static_cast<std::size_t>(signal)].due;
      if (!due || Clock::now() < *due) continue;
      kill(launcher, signal);
      due.reset();
    }
  }
  /// Until the next is due.
  [[nodiscard]] std::chrono::nanoseconds patience() const {
    std::chrono::nanoseconds least = std::chrono::hours(1);
    for (const State& state : states_)
      if (state.due) least = std::min<std::chrono::nanoseconds>(least, *state.due - Clock::now());
    return std::max(least, std::chrono::nanoseconds(0));
  }

 private:
  /// `timeout` signals its child and then its group, microseconds later; a batch system signals
  /// process by process, and the witness may have to wait for a CPU that the ranks hold.
  static constexpr auto kGrace = std::chrono::milliseconds(100);

  struct State {
    std::optional<Clock::time_point> due;        ///< when to pass it on, unless it is witnessed
    std::optional<Clock::time_point> witnessed;  ///< when the witness last had it
  };
  std::array<State, NSIG> states_{};
};

/// Ctrl-Z: a shell waits until this process stops, too, once the launcher has stopped. A launcher
/// that somebody else stopped, with SIGSTOP, is waited for.
class Stopping {
 public:
  void launcher_changed(int status) noexcept { launcher_stopped_ = WIFSTOPPED(status); }
  void got(int signal) noexcept {
    if (signal == SIGTSTP) asked_ = true;
    if (signal == SIGCONT) asked_ = false;
  }
  void stop_with_launcher() noexcept {
    if (!asked_ || !launcher_stopped_) return;
    asked_ = false;
    raise(SIGSTOP);
  }

 private:
  bool asked_ = false;
  bool launcher_stopped_ = false;
};

}  // namespace

void note_if_ending(int signal) noexcept {
  if (signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM)
    g_ending = signal;
}

int ending_signal() noexcept { return g_ending; }

void note_pending() noexcept {
  sigset_t pending;
  sigpending(&pending);
  for (const int signal : kForwarded)
    if (sigismember(&pending, signal) == 1) note_if_ending(signal);
}

SignalsHeld::SignalsHeld() noexcept {
  sigemptyset(&set_);
  for (const int signal : kForwarded) sigaddset(&set_, signal);
  sigaddset(&set_, SIGCHLD);
  sigaddset(&set_, Witness::report_signal());
  pthread_sigmask(SIG_BLOCK, &set_, &before_);
}

SignalsHeld::~SignalsHeld() {
  // The witness's reports must not end this process, nor a stop that came as the job ended hold it.
  siginfo_t info;
  while (take(info, std::chrono::nanoseconds(0))) continue;
  restore_mask();
}

void SignalsHeld::restore_mask() const noexcept { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool SignalsHeld::take(siginfo_t& info, std::chrono::nanoseconds patience) const noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const timespec most{seconds.count(), (patience - seconds).count()};
  const int signal = sigtimedwait(&set_, &info, &most);
  if (signal > 0) note_if_ending(signal);
  return signal > 0;
}

ProcessEnd end_of(int wait_status) noexcept {
  if (WIFSIGNALED(wait_status)) return {128 + WTERMSIG(wait_status), true};
  return {WEXITSTATUS(wait_status), false};
}

ProcessEnd attend(pid_t launcher, const Witness& witness, const SignalsHeld& held) {
  Forwarding forwarding;
  Stopping stopping;
  while (true) {
    int status = 0;
    const pid_t changed = waitpid(launcher, &status, WNOHANG | WUNTRACED | WCONTINUED);
    if (changed < 0 && errno != EINTR) return {1, false};
    if (changed == launcher) {
      if (WIFEXITED(status) || WIFSIGNALED(status)) return end_of(status);
      stopping.launcher_changed(status);
    }
    stopping.stop_with_launcher();
    siginfo_t info;
    if (held.take(info, forwarding.patience())) {
      if (witness.sent(info)) {
        forwarding.witnessed(info.si_value.sival_int);
      } else if (info.si_signo != SIGCHLD && info.si_signo != Witness::report_signal()) {
        stopping.got(info.si_signo);
        forwarding.got(info.si_signo);
      }
    }
    forwarding.pass_on_due(launcher);
  }
}

}  // namespace strake::run
