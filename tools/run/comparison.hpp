/// \file  The runs of `strake run --compare` as a table, a sentence, and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "statistics.hpp"

namespace strake::run {

/// What the interposer measured in a run: means over the ranks.
struct MpiTime {
  double seconds = 0;  ///< inside MPI functions
  double share = 0;    ///< of the time from MPI_Init to MPI_Finalize
};

struct MeasuredRun {
  double wall_s = 0;  ///< of the whole job, with its launcher
  std::optional<MpiTime> in_mpi;
};

/// Both kinds of runs, as many of each. Not of none.
class Comparison {
 public:
  Comparison(std::vector<MeasuredRun> alone, std::vector<MeasuredRun> under);

  [[nodiscard]] const Ratio& wall() const noexcept { return wall_; }
  /// Nothing if a run has no time inside MPI.
  [[nodiscard]] const std::optional<Ratio>& in_mpi() const noexcept { return in_mpi_; }
  /// Of the time inside MPI; of the whole run where that is not known.
  [[nodiscard]] Verdict verdict() const noexcept { return (in_mpi_ ? *in_mpi_ : wall_).verdict(); }

  /// "time in MPI 2.81 s → 1.20 s, 2.3 ± 0.1 ×; whole run 1.4 ± 0.1 ×"
  [[nodiscard]] std::string sentence() const;
  /// Medians alone and under Strake, from the smallest to the largest, and the ratios.
  [[nodiscard]] std::string table() const;
  /// All numbers; the last key is the sentence.
  [[nodiscard]] nlohmann::ordered_json json() const;

 private:
  std::vector<MeasuredRun> alone_;
  std::vector<MeasuredRun> under_;
  Ratio wall_;
  std::optional<Ratio> in_mpi_;
};

}  // namespace strake::run
