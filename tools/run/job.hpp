/// \file  The process of the job: starts it, passes signals on to it, and waits for it.
#pragma once

#include <csignal>
#include <string>

#include "attend.hpp"
#include "launcher.hpp"

namespace strake::run {

/// Where a job runs and where its standard streams go. Empty: where this process has them.
struct Surroundings {
  std::string folder;
  std::string in;
  std::string out;
  std::string err;
};

/// While it exists, a signal that would end this process is kept (and goes to a job, if one runs),
/// and a reader that goes away does not end it.
class Interruptions {
 public:
  Interruptions();
  ~Interruptions();
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;
  /// The last of SIGHUP, SIGINT, SIGQUIT and SIGTERM that came; 0: none.
  [[nodiscard]] static int signal() noexcept;

 private:
  struct sigaction before_ {};
};

/// Runs `command` with `environment` added to this process's own. Signals go on to it, see
/// attend(). \throws InvalidArgument  it can't be started.
[[nodiscard]] ProcessEnd run_job(const Arguments& command, const Variables& environment,
                                 const Surroundings& where = {});

/// Output of a program, errors too. Empty if the program can't be started.
[[nodiscard]] std::string output_of(const Arguments& command);

}  // namespace strake::run
