#include "witness.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace strake::run {
namespace {

/// Only calls that are safe after the fork of a process with threads.
[[noreturn]] void report_to(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "strake-witness");
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  sigset_t reported;
  sigemptyset(&reported);
  for (const int signal : kForwarded) sigaddset(&reported, signal);
  while (getppid() == parent) {
    const int signal = sigwaitinfo(&reported, nullptr);
    sigval value{};
    value.sival_int = signal;
    if (signal > 0) sigqueue(parent, Witness::report_signal(), value);
  }
  _exit(0);
}

}  // namespace

Witness::Witness() : process_(-1) {
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) report_to(parent);
}

Witness::~Witness() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

bool Witness::sent(const siginfo_t& info) const noexcept {
  return process_ > 0 && info.si_signo == report_signal() && info.si_pid == process_;
}

}  // namespace strake::run
