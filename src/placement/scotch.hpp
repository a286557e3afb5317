/// \file  A guess for map_graph() by SCOTCH's multilevel method, for graphs that are no grids. A
/// library of its own (target strake_placement_scotch), so that only who calls this links SCOTCH.
/// Source: Pellegrini, "Scotch and libScotch 7.0 User's Guide".
#pragma once

#include <optional>
#include <vector>

#include "placement/graph.hpp"

namespace strake::placement {

/// The group of each vertex: group g has exactly `sizes[g]` vertices. Nothing: Strake was built
/// without SCOTCH, SCOTCH failed, or the graph has more than 20,000 vertices, or more than 2^20
/// neighbours of all vertices together: SCOTCH's time has no bound. All calls with equal arguments
/// return the same. Threads take turns; SCOTCH starts none of its own, prints nothing and leaves
/// the process' random numbers alone. Cost: 0.3 s for 3,072 vertices of 26 neighbours. \throws
/// InvalidArgument  as map_graph()
[[nodiscard]] std::optional<std::vector<int>> scotch_guess(const Graph& graph,
                                                           const std::vector<int>& sizes);

}  // namespace strake::placement
