/// \file  MPI for the life of a benchmark.
#pragma once

#include <string>

namespace bench {

/// MPI_Init to MPI_Finalize.
class Environment {
 public:
  Environment(int* argc, char*** argv);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  /// The library and its version in a few words: "Open MPI 4.1.4", "MPICH 4.0.2".
  [[nodiscard]] std::string library() const;
  /// Ends the job with status 2 unless it has `wanted` ranks.
  void require_ranks(int wanted) const;

 private:
  int rank_ = 0;
  int ranks_ = 1;
};

/// Whether all ranks say yes. Collective.
[[nodiscard]] bool all_ranks(bool yes);

}  // namespace bench
