/// \file  Which vertices of a communication graph go to the same node. Sources: dissertation 5.7
/// (TEMPI's reordered communicators); von Kirchbach et al. (2020), "Efficient process-to-node
/// mapping algorithms for stencil computations" (stencil strips).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strake::placement {

/// A directed edge; several between the same two vertices add up.
struct Edge {
  int from = 0;
  int to = 0;
  std::int64_t weight = 1;  ///< of any unit, 0 or more
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// A graph of the messages between the ranks of a job. Memory: by edges.
struct Graph {
  int vertices = 0;
  std::vector<Edge> edges;
  friend bool operator==(const Graph&, const Graph&) = default;
};

/// The weight of the edges between vertices of different groups, and of all edges; edges from a
/// vertex to itself are in none.
struct Cut {
  std::int64_t across = 0;
  std::int64_t all = 0;
};
/// \param group_of  by vertex
[[nodiscard]] Cut cut_of(const Graph& graph, const std::vector<int>& group_of);

/// How many vertices each group has; groups are numbered from 0 on.
[[nodiscard]] std::vector<int> sizes_of_groups(const std::vector<int>& group_of);

/// Edges that a search looks at, where a graph is not large: 6 ms, since all other ranks of a job
/// may wait for the answer.
inline constexpr std::size_t kSearched = std::size_t{1} << 20;

/// The group of each vertex: group g has exactly `sizes[g]` vertices, and little weight is across.
/// Starts from `guesses`, each the groups of all vertices, from consecutive vertices, and from
/// groups that grow along edges; the result is never worse than the best of these. All calls with
/// equal arguments return the same. Cost: 0.5 s for 3,072 vertices of 26 neighbours; the number of
/// edges that are looked at is bounded, 3 s.
/// \param searched  edges that a search looks at after that, in graphs that are not large
/// \throws InvalidArgument  sizes that do not add up to the number of vertices, or below 0; an edge
/// of a vertex that there is not, or of a negative weight; edges that weigh more than 2^61
/// together; a guess with other sizes; the message names the edge and the values
[[nodiscard]] std::vector<int> map_graph(const Graph& graph, const std::vector<int>& sizes,
                                         const std::vector<std::vector<int>>& guesses = {},
                                         std::size_t searched = kSearched);

/// The groups of the positions of a Cartesian grid (the last axis counts fastest, as in
/// MPI_Cart_create) by stencil strips: strips along the longest axis, about as wide in each other
/// axis as a group that is a cube, or that is a box which the grid is a multiple of, where that is
/// about as good. A good guess for map_graph(). Cost: O(positions).
/// \param lengths  of a position along each axis, where neighbours along different axes do not send
/// each other the same; nothing: all are 1
/// \throws InvalidArgument  sizes that do not add up to the number of positions; lengths of another
/// number of axes, or one that is not above 0
[[nodiscard]] std::vector<int> stencil_strips(const std::vector<int>& dims,
                                              const std::vector<int>& sizes,
                                              const std::vector<double>& lengths = {});

}  // namespace strake::placement
