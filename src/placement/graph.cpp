#include "placement/graph.hpp"

namespace strake::placement {

Cut cut_of(const Graph& graph, const std::vector<int>& group_of) {
  Cut cut;
  for (const Edge& edge : graph.edges) {
    if (edge.from == edge.to) continue;
    cut.all += edge.weight;
    if (group_of[static_cast<std::size_t>(edge.from)] !=
        group_of[static_cast<std::size_t>(edge.to)])
      cut.across += edge.weight;
  }
  return cut;
}

}  // namespace strake::placement
