/// \file  The runs of a comparison: each kind in turn, each run with the same input.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "checked_job.hpp"
#include "comparison.hpp"
#include "kinds.hpp"
#include "run_command.hpp"
#include "runs_folder.hpp"

namespace strake::run {

/// Thrown to leave from anywhere when a signal came.
struct Interrupted {};

/// All that the runs of a kind left.
struct Runs {
  MeasuredRuns measured;
  std::vector<std::string> outputs;
  nlohmann::json summary;         ///< of a run under Strake; null: there is none
  std::set<job::Letter> letters;  ///< of a run under Strake
  std::string warnings;           ///< Strake's own, in the first run under it
};

struct Results {
  std::vector<Runs> kinds;   ///< by KindIndex
  std::string without_time;  ///< why there is no time inside MPI; empty: there is
  bool has_heap = true;      ///< false if no rank had the shared heap in the runs with it
};

class ComparedRuns {
 public:
  ComparedRuns(const Options& options, const Arguments& command, const RunFiles& files)
      : options_(options), command_(command), files_(files), job_(options, command) {
    results_.kinds.resize(options.shared_heap ? kKinds.size() : kHeap);
  }

  /// All of them, while an Interruptions exists. \throws Interrupted, Error
  /// \returns  the status of the first that failed; 0 if none did.
  int run();
  [[nodiscard]] const Results& results() const noexcept { return results_; }
  [[nodiscard]] std::string launcher() const { return job_.launcher(); }
  /// Why the times say less; most are looked for before the first run.
  [[nodiscard]] const std::vector<std::string>& doubts() const noexcept { return doubts_; }

 private:
  /// Ranks without the shared heap in the runs with it are doubts.
  void note_heap_uses();
  int run_one(KindIndex which, int turn);
  void show_progress(const Kind& kind, int turn) const;
  void report_failure(const Kind& kind, int turn, const std::string& meaning, int status) const;
  void read_summary(KindIndex which, const std::string& file, const Ended& ended);

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
