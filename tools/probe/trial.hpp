/// \file  Starts a trial job by a launcher of MPI and reads what it prints.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strake::probe {

using Words = std::vector<std::string>;

/// The launchers of these names that may be meant: beside the process that started this one (mpirun
/// itself, or a daemon of it), in the installation that the environment names, on the PATH.
[[nodiscard]] Words launchers(std::span<const char* const> names);

/// This process's environment (NAME=value each) without the variables of the job around it, and
/// with what lets two ranks start anywhere.
[[nodiscard]] Words clean_environment();

inline constexpr int kNotInTime = -1;

struct JobEnd {
  int status = 0;      ///< exit status, 128 + its signal, or kNotInTime
  std::string output;  ///< what it printed, to either stream
};

/// Runs `command`, whose first word is a path, with `variables` as its environment, until it ends,
/// has printed `last` (unless that is empty), or the time is over. Then ends the processes that it
/// started.
[[nodiscard]] JobEnd run_trial(Words command, Words variables, int seconds, std::string_view last);

/// One line of at most 200 characters: the lines of a job's output that have a letter in them, from
/// `first` on if the output has it, otherwise all. Empty if there is none.
[[nodiscard]] std::string summary_of(std::string_view output, std::string_view first);

}  // namespace strake::probe
