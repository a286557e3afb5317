/// \file  Which rank becomes which vertex of a communication graph, so that little of what vertices
/// send each other leaves the nodes. Source: dissertation 5.7.
#pragma once

#include <vector>

#include "placement/graph.hpp"

namespace strake::placement {

/// A vertex for each rank, and the weight between nodes before and after.
struct Ordering {
  std::vector<int> vertex_of;  ///< by rank: a permutation
  Cut before;                  ///< each rank is the vertex of its number
  Cut after;
};

/// \param node_of  by rank, as many as the graph has vertices; nodes are numbered from 0 on
/// \param guesses  as for map_graph()
/// A rank stays the vertex of its number where its node keeps that vertex. Alike wherever it is
/// called. Cost: as map_graph(). \throws InvalidArgument  as map_graph()
[[nodiscard]] Ordering ordering_of(const Graph& graph, const std::vector<int>& node_of,
                                   std::vector<std::vector<int>> guesses = {});

/// The graph of a Cartesian grid: each position has an edge of weight 1 to the next one and to the
/// one before, along each axis. The last axis counts fastest, as in MPI_Cart_create.
/// \param vertices  at least the number of positions; those beyond have no edges
[[nodiscard]] Graph cartesian_graph(const std::vector<int>& dims, const std::vector<int>& periodic,
                                    int vertices);

}  // namespace strake::placement
