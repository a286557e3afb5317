/// \file  A job that was checked and can be started, once or several times.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "job.hpp"
#include "job/report.hpp"
#include "job_check.hpp"
#include "launcher.hpp"
#include "mpi_library.hpp"
#include "run_command.hpp"

namespace strake::run {

/// How a job ended.
struct Ended : ProcessEnd {
  double wall_s = 0;  ///< from its start to its end
  std::set<job::Letter> letters;
  /// No interposer could serve one of its processes, which had to end.
  [[nodiscard]] bool refused() const { return letters.contains(job::Letter::Refused); }
};

class CheckedJob {
 public:
  /// \throws InvalidArgument  Strake can't reach the job, known before it starts.
  CheckedJob(const Options& options, const Arguments& command);
  /// Runs it to its end. \throws InvalidArgument  it can't be started.
  [[nodiscard]] Ended start(const Options& options, const Surroundings& where = {}) const;
  /// Whether all programs of the job are static, so that its processes leave no letters.
  [[nodiscard]] bool all_static() const noexcept { return all_static_; }
  /// Why each of its ranks was a job of its own (Letter::Alone).
  [[nodiscard]] WhyAlone why_alone() const;
  /// See ranks_of().
  [[nodiscard]] std::optional<int> ranks_here() const;
  /// The launcher as it was given; empty for a program without one.
  [[nodiscard]] std::string launcher() const;

 private:
  Arguments command_;
  std::string folder_;
  std::size_t at_ = 0;                ///< which word is the launcher
  std::optional<Launcher> launcher_;  ///< none: the command is the program itself
  bool all_static_ = false;
};

}  // namespace strake::run
