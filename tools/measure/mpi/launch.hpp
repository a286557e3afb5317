/// \file  Starts a throwaway job by a launcher of MPI's and reads what it prints.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strake::measure {

/// The launchers of these names that may be meant: beside the process that started this one (mpirun
/// itself, or a daemon of it), in the installation that the environment names, on the PATH.
[[nodiscard]] std::vector<std::string> launchers(std::span<const char* const> names);

inline constexpr int kNotInTime = -1;

struct JobEnd {
  int status = 0;      ///< exit status, 128 + its signal, or kNotInTime
  std::string output;  ///< what it printed, to either stream
};

/// Runs `command` in an environment that tells nothing of the job around it, until it ends, has
/// printed `last` or the time is over; the processes that it started are then ended.
[[nodiscard]] JobEnd run_job(std::vector<std::string> command, int seconds, std::string_view last);

/// Of what a job printed, from the first line that tells something on, as one line of at most 200
/// characters: the one that begins with `first` if there is such a line, else the first with a
/// letter in it. Empty: there is none.
[[nodiscard]] std::string summary_of(std::string_view output, std::string_view first);

}  // namespace strake::measure
