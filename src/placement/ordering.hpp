/// \file  Which rank becomes which vertex of a communication graph, so that little of what vertices
/// send each other leaves the nodes. Source: dissertation 5.7.
#pragma once

#include <vector>

#include "placement/graph.hpp"

namespace strake::placement {

/// Where ranks are, or the places of a grid.
struct Homes {
  std::vector<int> node_of;  ///< nodes are numbered from 0 on
  /// Islands: those of a node that reach each other faster than others of the node, as the ranks of
  /// a socket do (machine/islands.hpp). Numbered from 0 on through all nodes. Empty: no node has
  /// several.
  std::vector<int> island_of{};
  friend bool operator==(const Homes&, const Homes&) = default;
};

/// A vertex for each rank, and the weight between nodes before and after.
struct Ordering {
  std::vector<int> vertex_of;  ///< by rank: a permutation
  Cut before;                  ///< each rank is the vertex of its number
  Cut after;
  /// \{ Between islands, of one node or of several; a node without islands is one.
  Cut islands_before;
  Cut islands_after;
  /// \}
};

/// Little is between nodes, and of what stays in a node little is between its islands.
/// \param homes  by rank, as many as the graph has vertices
/// \param guesses  as for map_graph()
/// A rank stays the vertex of its number where its node, or its island, keeps that vertex. Alike
/// wherever it is called. Cost: as map_graph(), twice where there are islands.
/// \throws InvalidArgument  as map_graph()
[[nodiscard]] Ordering ordering_of(const Graph& graph, const Homes& homes,
                                   std::vector<std::vector<int>> guesses = {});

/// A vertex for each rank, as in Ordering, where each node keeps its vertices: those of the numbers
/// of its ranks. Ranks keep their numbers where that is no worse for any node.
[[nodiscard]] std::vector<int> order_on_islands(const Graph& graph, const Homes& homes);

/// The graph of a Cartesian grid: each position has an edge of weight 1 to the next one and to the
/// one before, along each axis. The last axis counts fastest, as in MPI_Cart_create.
/// \param vertices  at least the number of positions; those beyond have no edges
[[nodiscard]] Graph cartesian_graph(const std::vector<int>& dims, const std::vector<int>& periodic,
                                    int vertices);

}  // namespace strake::placement
