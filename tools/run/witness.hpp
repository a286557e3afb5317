/// \file  Tells whether a signal that this process got has reached the launcher as well.
#pragma once

#include <sys/types.h>

#include <array>
#include <csignal>

namespace strake::run {

/// The signals that `strake run` passes on to the launcher.
inline constexpr std::array kForwarded = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                                          SIGALRM, SIGXCPU, SIGTSTP, SIGCONT, SIGWINCH};

/// A process that stands where the launcher stands: a child of this one, in its process group,
/// session and control group. Who sends a signal to more than this process (a terminal, `timeout`,
/// `kill -- -PGID`, a batch system) reaches the launcher and the witness alike. The witness does
/// nothing but report what it got. Other ways were rejected:
/// - A signal's sender (si_pid, SI_USER) is the same whether it meant one process or a group, and a
///   batch system that signals each process of a job sends as many single ones.
/// - A process group of its own for the launcher keeps a group's signals from it, but not those;
///   and it needs the terminal's foreground, which this command would take from the other programs
///   of a pipeline (`strake run … | less`).
/// - Becoming the launcher by exec leaves nobody to say afterwards that no rank reached Strake.
class Witness {
 public:
  /// Forks. The calling thread must have blocked kForwarded and report_signal(), and must be the
  /// one that lives longest: the witness ends with it, by SIGKILL too.
  Witness();
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  /// The signal by which it reports: its si_value is the signal that the witness got.
  [[nodiscard]] static int report_signal() noexcept { return SIGRTMIN; }
  [[nodiscard]] bool sent(const siginfo_t& info) const noexcept;

 private:
  pid_t process_;  ///< negative: none could be forked, and it reports nothing
};

}  // namespace strake::run
