/// \file  Ranks of communicators with a topology that may be reordered (reorder=1) are placed so
/// that less of what neighbours send each other leaves the nodes. Source: dissertation 5.7
/// (TEMPI); decision 30.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "placement/ordering.hpp"

namespace strake::interpose {

[[nodiscard]] int rank_in(MPI_Comm comm);

/// How many communicators this rank was the first of that asked for reordered ranks, and the
/// weights of all their edges.
struct ReorderCounts {
  std::uint64_t reordered = 0;
  std::uint64_t kept = 0;           ///< placing anew would not help enough
  std::uint64_t across_before = 0;  ///< between nodes, of those that were reordered
  std::uint64_t across_after = 0;
  std::uint64_t islands_before = 0;  ///< between islands, of one node or of several
  std::uint64_t islands_after = 0;
  std::uint64_t all = 0;
};
[[nodiscard]] ReorderCounts reorder_counts() noexcept;

/// A graph. A search starts from the stencil strips of its grid; where it is no grid, SCOTCH
/// guesses, if Strake was built with it.
struct Wanted {
  placement::Graph graph;
  std::vector<int> dims;  ///< of a grid of all vertices; empty: it is none
};
/// Called on the first rank, or where a call is local.
using MakeGraph = std::function<Wanted(std::size_t ranks)>;
[[nodiscard]] Wanted wanted_grid(const std::vector<int>& dims, const std::vector<int>& periodic,
                                 std::size_t ranks);

/// The nodes and islands of the ranks of `comm`, where its ranks may be placed anew. Without any:
/// never, since all are on one island, or settings forbid it. Alike on all ranks; local.
[[nodiscard]] placement::Homes homes_to_order(MPI_Comm comm);
/// Whether all ranks of `comm` are. Collective. \throws MpiError
[[nodiscard]] bool all_willing(MPI_Comm comm, bool willing);
/// The vertex of each rank, or nothing: placing anew does not help enough. Local, and alike
/// wherever the graph is. The last answer is kept, for calls with an equal graph. \throws
/// InvalidArgument  as placement::map_graph()
[[nodiscard]] std::optional<placement::Ordering> helpful_ordering(const Wanted& wanted,
                                                                  const placement::Homes& homes);
/// As helpful_ordering(), of what the first rank of `comm` finds. Collective.
/// \throws InvalidArgument and others, on all ranks alike
[[nodiscard]] std::vector<int> agreed_ordering(MPI_Comm comm, const MakeGraph& make,
                                               const placement::Homes& homes);

/// A communicator of the ranks of `comm` in another order, which no program sees.
class OrderedRanks {
 public:
  /// Collective. \param vertex_of  by rank: the new ranks. \throws MpiError
  OrderedRanks(MPI_Comm comm, const std::vector<int>& vertex_of);
  ~OrderedRanks();
  OrderedRanks(const OrderedRanks&) = delete;
  OrderedRanks& operator=(const OrderedRanks&) = delete;
  [[nodiscard]] MPI_Comm get() const noexcept { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace strake::interpose
