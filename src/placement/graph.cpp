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

std::vector<int> sizes_of_groups(const std::vector<int>& group_of) {
  std::vector<int> sizes;
  for (const int group : group_of) {
    const auto at = static_cast<std::size_t>(group);
    if (at >= sizes.size()) sizes.resize(at + 1);
    ++sizes[at];
  }
  return sizes;
}

}  // namespace strake::placement
