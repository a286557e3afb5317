#include "placement/adjacency.hpp"
#include "placement/scotch.hpp"

namespace strake::placement {

std::optional<std::vector<int>> scotch_guess(const Graph& graph, const std::vector<int>& sizes) {
  require_sizes(graph.vertices, sizes);
  require_edges(graph);
  return std::nullopt;
}

}  // namespace strake::placement
