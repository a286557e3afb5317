/// \file  The job's own process: started, given this command's signals, waited for.
#pragma once

#include <string>

#include "launcher.hpp"

namespace strake::run {

/// Runs `command` with `environment` added to this process's own, and returns as a shell would tell
/// its end: its status, or 128 + the signal. Signals sent to this process go on to it. \throws
/// InvalidArgument  it can't be started.
[[nodiscard]] int run_job(const Arguments& command, const Variables& environment);

/// What a program prints, errors too. Empty where it can't be started.
[[nodiscard]] std::string output_of(const Arguments& command);

/// A file in which the job's processes on this machine leave a letter each. Removed at the end.
class JobReport {
 public:
  /// Where none can be made, in TMPDIR or /tmp, the path is empty and no letter is ever there.
  explicit JobReport(const std::string& job);
  ~JobReport();
  JobReport(const JobReport&) = delete;
  JobReport& operator=(const JobReport&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Whether a process of the job left this letter: 'p' one without MPI, 'm' one with it, 'e' one
  /// that had to end.
  [[nodiscard]] bool has(char letter) const;

 private:
  std::string path_;
};

}  // namespace strake::run
