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

/// What a job prints, in bounded memory however much that is: which of some texts were there, and
/// how it began.
class Printed {
 public:
  explicit Printed(std::vector<std::string> wanted);
  void take(std::string_view part);
  /// Whether `text`, one of those wanted, was printed.
  [[nodiscard]] bool has(std::string_view text) const;
  /// From the first line that tells something on, as one line of at most 200 characters: the one
  /// that begins with `first` if there is such a line, else the first with a letter in it. Empty:
  /// there is none.
  [[nodiscard]] std::string summary(std::string_view first) const;

 private:
  std::vector<std::string> wanted_;
  std::vector<bool> seen_;
  std::size_t longest_ = 0;  // of those wanted
  std::string window_;       // the end of what was printed, in which one of them may have begun
  std::string start_;
};

inline constexpr int kNotInTime = -1;

/// Runs `command` in an environment that tells nothing of the job around it, until it ends, has
/// printed `last` or the time is over; the processes that it started are then ended. Both of its
/// streams go to `printed`. Its exit status, 128 + its signal, or kNotInTime.
int run_job(std::vector<std::string> command, int seconds, std::string_view last, Printed& printed);

}  // namespace strake::measure
