/// \file  The ranks of the job that `strake measure` runs in: who they are, which of them share a
/// node, and how they wait for each other. MPI is called by its PMPI names, so that what is
/// measured is the library's own, whatever was preloaded.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "case.hpp"

namespace strake::measure {

/// The path of messages between two ranks.
enum class Path : std::uint8_t { Node, Network };

/// "node" or "net", as in the names of results.
[[nodiscard]] const char* name_of(Path path) noexcept;

class Job final : public Team {
 public:
  /// Initialises MPI. Collective over the job. \throws MpiError
  Job();
  /// Finalises MPI. Collective.
  ~Job() override;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::string library() const override;
  /// \{ Collective. A rank that waits sleeps, up to 1 ms at a time. One that had a time in a
  /// maximum() of this case (since the last barrier()), or of the one before, first stays awake for
  /// 100 ms: a core that slept is slow long after it.
  /// \throws MpiError
  void broadcast(void* data, std::size_t bytes) override;
  void barrier() override;
  double maximum(double value) override;
  /// \}

  /// All ranks, in a communicator that returns errors and that nobody else uses.
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  /// Rank 0 and the first rank that is on its node, or on another; empty where there is none.
  [[nodiscard]] std::vector<int> pair(Path path) const;
  /// Ranks in disjoint pairs, as many as there are: both of rank 0's node, or one of it and one of
  /// the next. Those of pair i are at 2 i and 2 i + 1.
  [[nodiscard]] std::vector<int> pairs(Path path) const;
  /// All ranks of rank 0's node.
  [[nodiscard]] std::vector<int> node() const;
  /// This rank's number among those of its machine.
  [[nodiscard]] int local_rank() const noexcept { return local_rank_; }

  /// Returns on all of `ranks` (which name this one) at about the same time. Spins, then yields.
  /// \throws MpiError
  void meet(std::span<const int> ranks) const;

 private:
  void find_nodes();
  void wait_for(MPI_Request& request) const;

  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm team_ = MPI_COMM_NULL;  // for the collectives of Team, apart from what is measured
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  bool took_part_ = false;  // in this case
  bool awake_ = false;      // in this case or the one before
  std::vector<int> nodes_;  // per rank, numbered by first appearance
};

/// Spins, then yields, until `request` is complete. \throws MpiError
void finish(MPI_Request& request);
/// Sleeps, up to 1 ms at a time, until `request` is complete. \throws MpiError
void finish_asleep(MPI_Request& request);

/// Half the seconds of so many blocking messages there and back: one operation is half of that.
template <typename Send, typename Receive>
double time_round_trips(std::int64_t iterations, bool first, Send&& send, Receive&& receive) {
  return time_calls(iterations,
                    [&] {
                      if (first) send();
                      receive();
                      if (!first) send();
                    }) /
         2;
}

}  // namespace strake::measure
