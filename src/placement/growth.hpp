/// \file  Groups that grow along a graph's edges, one after another: a guess that does not depend
/// on the vertices' numbers. Source: Karypis and Kumar (1998), "A fast and high quality multilevel
/// scheme for partitioning irregular graphs" (greedy graph growing). Internal to map_graph().
#pragma once

#include <vector>

#include "placement/adjacency.hpp"

namespace strake::placement {

/// The group of each vertex: group g has exactly `sizes[g]` vertices. Each takes the vertex after
/// which the least weight leaves it to vertices that have no group yet. Cost: O(edges log edges).
/// \param order  the groups' numbers, in the order in which they grow
/// \param first  the vertex with which the first of them begins; -1: the one of the least weight
[[nodiscard]] std::vector<int> grow(const Adjacency& adjacency, const std::vector<int>& sizes,
                                    const std::vector<int>& order, int first = -1);

}  // namespace strake::placement
