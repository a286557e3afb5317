/// \file  Shows the progress of a measurement on standard error: as a bar on a terminal, otherwise
/// as a line now and then.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>

namespace strake::measure {

class Progress {
 public:
  /// Shows a run of at most `budget_s` seconds.
  explicit Progress(double budget_s, std::FILE* stream = stderr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of `total` measurements are over, and this one begins.
  void show(std::size_t done, std::size_t total, const std::string& what);
  /// A line of its own, above the bar.
  void say(const std::string& line);

 private:
  void clear();

  double budget_s_;
  std::FILE* stream_;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point begin_, last_;
};

/// "0:42 left".
[[nodiscard]] std::string time_left(std::size_t done, std::size_t total, double elapsed_s,
                                    double budget_s);

}  // namespace strake::measure
