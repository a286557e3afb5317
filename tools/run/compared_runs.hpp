/// \file  The runs of a comparison: alone and under Strake in turn, each with the same input.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "checked_job.hpp"
#include "comparison.hpp"
#include "run_command.hpp"
#include "runs_folder.hpp"

namespace strake::run {

/// Thrown to leave from anywhere when a signal came.
struct Interrupted {};

/// What came of the runs alone, or of those under Strake.
struct Runs {
  std::vector<MeasuredRun> measured;
  std::vector<std::string> outputs;
};

struct Results {
  Runs alone;
  Runs under;
  nlohmann::json summary;         ///< of a run under Strake; null: there is none
  std::set<job::Letter> letters;  ///< of a run under Strake
  std::string without_time;       ///< why there is no time inside MPI; empty: there is
  std::string warnings;           ///< Strake's own, in a run under it
};

struct Kind;

class ComparedRuns {
 public:
  ComparedRuns(const Options& options, const Arguments& command, const RunFiles& files)
      : options_(options), command_(command), files_(files), job_(options, command) {}

  /// All of them, while an Interruptions exists. \throws Interrupted, Error
  /// \returns  the status of the first that failed; 0 if none did.
  int run();
  [[nodiscard]] const Results& results() const noexcept { return results_; }
  [[nodiscard]] std::string launcher() const { return job_.launcher(); }
  /// Why the times say less; looked for before the first run.
  [[nodiscard]] const std::vector<std::string>& doubts() const noexcept { return doubts_; }

 private:
  int run_one(const Kind& kind, int turn, Runs& results);
  void show_progress(const Kind& kind, int turn) const;
  void report_failure(const Kind& kind, int turn, const std::string& meaning, int status) const;
  void read_summary(const Kind& kind, const std::string& file, const Ended& ended, Runs& results);

  const Options& options_;
  const Arguments& command_;
  const RunFiles& files_;
  CheckedJob job_;
  RunsFolder runs_;
  std::string input_;
  Results results_;
  std::vector<std::string> doubts_;
  bool first_ = true;
};

}  // namespace strake::run
