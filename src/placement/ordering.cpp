#include "placement/ordering.hpp"

#include <algorithm>
#include <utility>

namespace strake::placement {
namespace {

/// Ranks or vertices by group, in their order.
std::vector<std::vector<int>> members_of(const std::vector<int>& group_of, std::size_t groups) {
  std::vector<std::vector<int>> members(groups);
  for (std::size_t i = 0; i < group_of.size(); ++i)
    members[static_cast<std::size_t>(group_of[i])].push_back(static_cast<int>(i));
  return members;
}

}  // namespace

Ordering ordering_of(const Graph& graph, const std::vector<int>& node_of,
                     std::vector<std::vector<int>> guesses) {
  const std::vector<int> sizes = sizes_of_groups(node_of);
  const std::size_t nodes = sizes.size();
  const std::vector<std::vector<int>> ranks = members_of(node_of, nodes);
  guesses.push_back(node_of);
  std::vector<int> mapped = map_graph(graph, sizes, guesses);
  Ordering made;
  made.before = cut_of(graph, node_of);
  made.after = cut_of(graph, mapped);
  if (made.after.across >= made.before.across) {
    mapped = node_of;
    made.after = made.before;
  }
  constexpr int kNone = -1;
  made.vertex_of.assign(node_of.size(), kNone);
  const std::vector<std::vector<int>> vertices = members_of(mapped, nodes);
  for (std::size_t node = 0; node < nodes; ++node) {
    std::vector<int> rest;
    for (const int vertex : vertices[node]) {
      const auto at = static_cast<std::size_t>(vertex);
      if (node_of[at] == static_cast<int>(node))
        made.vertex_of[at] = vertex;
      else
        rest.push_back(vertex);
    }
    auto next = rest.begin();
    for (const int rank : ranks[node])
      if (int& vertex = made.vertex_of[static_cast<std::size_t>(rank)]; vertex == kNone)
        vertex = *next++;
  }
  return made;
}

Graph cartesian_graph(const std::vector<int>& dims, const std::vector<int>& periodic,
                      int vertices) {
  Graph made{vertices, {}};
  int positions = 1;
  for (const int along : dims) positions *= along;
  for (int position = 0; position < positions; ++position) {
    int stride = 1;
    for (std::size_t axis = dims.size(); axis-- > 0; stride *= dims[axis]) {
      const int along = dims[axis];
      const int here = position / stride % along;
      for (const int step : {-1, 1}) {
        int there = here + step;
        if (there < 0 || there >= along) {
          if (periodic[axis] == 0) continue;
          there = (there + along) % along;
        }
        made.edges.push_back({position, position + (there - here) * stride, 1});
      }
    }
  }
  return made;
}

}  // namespace strake::placement
