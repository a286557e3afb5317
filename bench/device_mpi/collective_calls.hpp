/// \file  Collective calls whose answers are known: for each function a call, the memory that it
/// uses, and the values that it leaves there.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

namespace bench {

/// The ranks of a job, as a ring too, and the arguments of calls of all with all.
class Members {
 public:
  /// A rank's share of data. [doubles]
  static constexpr int kDoubles = (256 << 10) / 8;
  static constexpr int kRanks = 4;

  /// Collective over MPI_COMM_WORLD, which has kRanks ranks.
  Members();
  ~Members();
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int left() const { return (rank_ + kRanks - 1) % kRanks; }
  [[nodiscard]] int right() const { return (rank_ + 1) % kRanks; }
  [[nodiscard]] MPI_Comm ring() const { return ring_; }
  /// Every other 32 bytes of a part.
  [[nodiscard]] MPI_Datatype columns() const { return columns_; }

 private:
  int rank_ = 0;
  MPI_Comm ring_ = MPI_COMM_NULL;
  MPI_Datatype columns_ = MPI_DATATYPE_NULL;
};

/// Doubles of a rank's share that one of all ranks gets.
inline constexpr int kPart = Members::kDoubles / Members::kRanks;

/// The element `i` that a rank sends. Sums of such numbers are exact.
[[nodiscard]] inline double sent_by(int rank, int i, int epoch) {
  return rank * 1e6 + i + epoch * 0.5;
}
/// Memory that no call writes holds this.
inline constexpr double kUntouched = -1;

struct CollectiveCall {
  const char* name;
  void (*call)(const Members& members, const double* in, double* out);
  /// Doubles that a rank's call reads from the begin of `in`, and writes from the begin of `out`.
  int (*reads)(int rank);
  int (*writes)(int rank);
  /// The element `i` of `out` after the call, of the first writes(rank) elements.
  double (*expected)(const Members& members, int i, int epoch);
};
std::span<const CollectiveCall> collective_calls();

}  // namespace bench
