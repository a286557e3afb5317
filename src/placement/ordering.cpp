#include "placement/ordering.hpp"

#include <algorithm>
#include <utility>

namespace strake::placement {
namespace {

constexpr int kNone = -1;

/// Ranks or vertices by group, in their order.
std::vector<std::vector<int>> members_of(const std::vector<int>& group_of, std::size_t groups) {
  std::vector<std::vector<int>> members(groups);
  for (std::size_t i = 0; i < group_of.size(); ++i)
    members[static_cast<std::size_t>(group_of[i])].push_back(static_cast<int>(i));
  return members;
}

/// A vertex for each rank, where the vertices of a group go to the ranks of that group. A rank gets
/// the vertex of its number if its group has that one.
std::vector<int> vertices_of_ranks(const std::vector<int>& group_of_vertex,
                                   const std::vector<int>& group_of_rank, std::size_t groups) {
  std::vector<int> made(group_of_rank.size(), kNone);
  const std::vector<std::vector<int>> vertices = members_of(group_of_vertex, groups);
  const std::vector<std::vector<int>> ranks = members_of(group_of_rank, groups);
  for (std::size_t group = 0; group < groups; ++group) {
    std::vector<int> rest;
    for (const int vertex : vertices[group]) {
      const auto at = static_cast<std::size_t>(vertex);
      if (group_of_rank[at] == static_cast<int>(group))
        made[at] = vertex;
      else
        rest.push_back(vertex);
    }
    auto next = rest.begin();
    for (const int rank : ranks[group])
      if (int& vertex = made[static_cast<std::size_t>(rank)]; vertex == kNone) vertex = *next++;
  }
  return made;
}

/// Divides the vertices of each node among its islands.
class IslandMapping {
 public:
  /// \param island_of  by vertex: a first division, which is kept where none is found that is
  /// better
  IslandMapping(const Graph& graph, const std::vector<int>& node_of_vertex, std::size_t nodes,
                std::vector<int> island_of)
      : island_of_(std::move(island_of)),
        vertices_(members_of(node_of_vertex, nodes)),
        edges_(nodes),
        local_(island_of_.size()),
        searched_(kSearched / nodes) {
    for (const std::vector<int>& some : vertices_)
      for (std::size_t i = 0; i < some.size(); ++i)
        local_[static_cast<std::size_t>(some[i])] = static_cast<int>(i);
    for (const Edge& edge : graph.edges) {
      const auto from = static_cast<std::size_t>(edge.from);
      const auto to = static_cast<std::size_t>(edge.to);
      if (node_of_vertex[from] == node_of_vertex[to])
        edges_[static_cast<std::size_t>(node_of_vertex[from])].push_back(
            {local_[from], local_[to], edge.weight});
    }
  }

  std::vector<int> run() && {
    for (std::size_t node = 0; node < vertices_.size(); ++node) map(node);
    return std::move(island_of_);
  }

 private:
  void map(std::size_t node) {
    const std::vector<int>& vertices = vertices_[node];
    std::vector<int> islands;  // of this node
    for (const int vertex : vertices)
      islands.push_back(island_of_[static_cast<std::size_t>(vertex)]);
    std::vector<int> numbers = islands;
    std::ranges::sort(numbers);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    if (numbers.size() < 2) return;
    for (int& island : islands)
      island = static_cast<int>(std::ranges::lower_bound(numbers, island) - numbers.begin());
    const Graph graph{static_cast<int>(vertices.size()), std::move(edges_[node])};
    const std::vector<int> found = map_graph(graph, sizes_of_groups(islands), {islands}, searched_);
    if (cut_of(graph, found).across >= cut_of(graph, islands).across) return;
    for (std::size_t i = 0; i < vertices.size(); ++i)
      island_of_[static_cast<std::size_t>(vertices[i])] =
          numbers[static_cast<std::size_t>(found[i])];
  }

  std::vector<int> island_of_;
  std::vector<std::vector<int>> vertices_;  ///< by node
  std::vector<std::vector<Edge>> edges_;    ///< by node, between the numbers of its vertices
  std::vector<int> local_;                  ///< by vertex: its number within its node
  std::size_t searched_;
};

}  // namespace

Ordering ordering_of(const Graph& graph, const Homes& homes,
                     std::vector<std::vector<int>> guesses) {
  const std::vector<int>& node_of = homes.node_of;
  const std::vector<int> sizes = sizes_of_groups(node_of);
  guesses.push_back(node_of);
  std::vector<int> mapped = map_graph(graph, sizes, guesses);
  Ordering made;
  made.before = cut_of(graph, node_of);
  made.after = cut_of(graph, mapped);
  if (made.after.across >= made.before.across) {
    mapped = node_of;
    made.after = made.before;
  }
  made.vertex_of = vertices_of_ranks(mapped, node_of, sizes.size());
  if (homes.island_of.empty()) {
    made.islands_before = made.before;
    made.islands_after = made.after;
    return made;
  }
  std::vector<int> first(node_of.size());
  for (std::size_t rank = 0; rank < node_of.size(); ++rank)
    first[static_cast<std::size_t>(made.vertex_of[rank])] = homes.island_of[rank];
  const std::vector<int> islands =
      IslandMapping(graph, mapped, sizes.size(), std::move(first)).run();
  made.islands_before = cut_of(graph, homes.island_of);
  made.islands_after = cut_of(graph, islands);
  made.vertex_of =
      vertices_of_ranks(islands, homes.island_of, sizes_of_groups(homes.island_of).size());
  return made;
}

std::vector<int> order_on_islands(const Graph& graph, const Homes& homes) {
  const std::size_t nodes = sizes_of_groups(homes.node_of).size();
  const std::vector<int> islands =
      IslandMapping(graph, homes.node_of, nodes, homes.island_of).run();
  return vertices_of_ranks(islands, homes.island_of, sizes_of_groups(homes.island_of).size());
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
