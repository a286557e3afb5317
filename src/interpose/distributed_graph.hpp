/// \file  Graphs whose edges the ranks of a communicator name each for itself
/// (MPI_Dist_graph_create, MPI_Dist_graph_create_adjacent): the first rank gathers and checks them.
#pragma once

#include <mpi.h>

#include <vector>

#include "placement/ordering.hpp"

namespace strake::interpose {

/// The arguments of MPI_Dist_graph_create.
struct NamedEdges {
  int n = 0;
  const int* sources = nullptr;
  const int* degrees = nullptr;
  const int* destinations = nullptr;
  const int* weights = nullptr;
};

/// The ranks that a vertex gets messages from, or sends them to, as MPI_Dist_graph_create_adjacent
/// gets them.
struct Adjacent {
  int count = 0;
  const int* ranks = nullptr;
  const int* weights = nullptr;
};
struct Adjacency {
  Adjacent in;
  Adjacent out;
};

/// \{ The vertex of each rank, where placing the ranks anew helps; else nothing. Collective.
/// \throws InvalidArgument  on all ranks: a rank that there is not, a negative degree or weight; of
/// adjacent edges also one that its two ends name a different number of times; the message says
/// which rank, edge and values
[[nodiscard]] std::vector<int> order_distributed(MPI_Comm comm, const placement::Homes& homes,
                                                 const NamedEdges& own);
[[nodiscard]] std::vector<int> order_adjacent(MPI_Comm comm, const placement::Homes& homes,
                                              const Adjacency& own);
/// \}

/// The adjacency of the vertex that this rank becomes, which another rank has named.
class MovedAdjacency {
 public:
  /// Collective over `ordered`, whose ranks are vertices. `own` is the adjacency of the vertex
  /// `rank`, which is this rank's in the communicator that came before. \throws MpiError
  MovedAdjacency(MPI_Comm ordered, int rank, const Adjacency& own,
                 const std::vector<int>& vertex_of);
  [[nodiscard]] Adjacency get() const noexcept;

 private:
  struct List {
    std::vector<int> ranks;
    std::vector<int> weights;
    bool weighted = false;
    [[nodiscard]] Adjacent get() const noexcept;
  };
  List in_;
  List out_;
};

}  // namespace strake::interpose
