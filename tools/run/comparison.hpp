/// \file  The runs of `strake run --compare`: what they show, as a table, a sentence, and JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kinds.hpp"
#include "statistics.hpp"

namespace strake::run {

/// Time in MPI that the interposer measured in a run: means over the ranks.
struct MpiTime {
  double seconds = 0;  ///< inside MPI functions
  double share = 0;    ///< of the time from MPI_Init to MPI_Finalize
};

struct MeasuredRun {
  double wall_s = 0;  ///< of the whole job, with its launcher
  std::optional<MpiTime> in_mpi;
};
using MeasuredRuns = std::vector<MeasuredRun>;

/// How many times longer the runs of one kind take than those of another.
struct Difference {
  Ratio wall;
  /// Nothing if a run of any kind has no time inside MPI.
  std::optional<Ratio> in_mpi;
  /// Verdict on the time inside MPI; on the whole run where that is not known.
  [[nodiscard]] Verdict verdict() const noexcept { return (in_mpi ? *in_mpi : wall).verdict(); }
  /// Verdict by which one of the two kinds is taken: on the whole run if that differs, else on the
  /// time inside MPI. Memory that ranks share can cost outside MPI what it saves inside.
  [[nodiscard]] Verdict decision() const noexcept;
};

/// Two or three kinds of runs, as many of each. Not of none.
class Comparison {
 public:
  /// `runs`: by KindIndex; `has_heap`: false if no rank had the shared heap in the runs with it.
  explicit Comparison(std::vector<MeasuredRuns> runs, bool has_heap = true);

  [[nodiscard]] std::size_t kinds() const noexcept { return runs_.size(); }
  [[nodiscard]] std::size_t runs_each() const noexcept { return runs_.front().size(); }
  [[nodiscard]] bool has_mpi_time() const noexcept { return has_mpi_time_; }
  [[nodiscard]] bool has_heap() const noexcept { return has_heap_; }
  [[nodiscard]] Difference between(KindIndex longer, KindIndex shorter) const;
  /// The kind that these runs show to take less time than the job alone, and not more than another
  /// kind; kAlone where they show none. kHeap only with has_heap().
  [[nodiscard]] KindIndex best() const;

  /// \{ Spreads over the runs of a kind. The latter two: only with has_mpi_time().
  [[nodiscard]] Spread wall(KindIndex kind) const;
  [[nodiscard]] Spread in_mpi(KindIndex kind) const;
  [[nodiscard]] Spread share(KindIndex kind) const;
  /// \}

  /// "time in MPI 2.81 s → 1.20 s, 2.3 ± 0.1 ×; whole run 1.4 ± 0.1 ×"
  [[nodiscard]] std::string sentence() const;
  /// Medians of each kind, from the smallest to the largest, and the ratios.
  [[nodiscard]] std::string table() const;
  /// All numbers; the last key is the sentence.
  [[nodiscard]] nlohmann::ordered_json json() const;

 private:
  std::vector<MeasuredRuns> runs_;
  bool has_heap_;
  bool has_mpi_time_;
};

}  // namespace strake::run
