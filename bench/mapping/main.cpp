// How well, and how fast, the ranks of a periodic grid are mapped to nodes, as JSON lines: from
// stencil strips; and with the ranks in random order by Strake's own guesses, by SCOTCH alone, and
// by both. Sizes of nodes are checked.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "placement/graph.hpp"
#include "placement/scotch.hpp"
#include "placement/traffic.hpp"
#include "support/options.hpp"

namespace {

using strake::placement::Graph;
using strake::placement::Position;

struct MappedCase {
  Position counts;  ///< of ranks along each axis, with 256^3 cells each
  int ranks_per_node;
};

Graph graph_of(const Position& counts) {
  constexpr int kCells = 256;
  strake::Index3 extent{};
  for (std::size_t axis = 0; axis < 3; ++axis) extent[axis] = kCells * counts[axis];
  Graph made{counts[0] * counts[1] * counts[2], {}};
  strake::placement::for_each_flow({extent, counts}, 1, {true, true, true}, [&](const auto& flow) {
    made.edges.push_back({flow.from, flow.to, flow.cells});
  });
  return made;
}

/// The vertices in random order.
Graph shuffled(Graph graph) {
  std::vector<int> number(static_cast<std::size_t>(graph.vertices));
  std::iota(number.begin(), number.end(), 0);
  std::mt19937 random(1);
  std::ranges::shuffle(number, random);
  for (auto& edge : graph.edges) {
    edge.from = number[static_cast<std::size_t>(edge.from)];
    edge.to = number[static_cast<std::size_t>(edge.to)];
  }
  return graph;
}

/// One way to map a graph; prints its line. False: it did not give the sizes.
template <typename Map>
bool measure(const char* way, const Graph& graph, const std::vector<int>& sizes, const Map& map) {
  const std::clock_t begin = std::clock();
  const std::optional<std::vector<int>> group_of = map();
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (!group_of) return true;  // SCOTCH is not here, or not for graphs of this size
  const auto cut = strake::placement::cut_of(graph, *group_of);
  fmt::print(
      "{{\"benchmark\": \"mapping\", \"name\": \"{} ranks, {} of each node\", \"op\": \"{}\", "
      "\"percent\": {:.1f}, \"seconds\": {:.4f}}}\n",
      graph.vertices, sizes.front(), way,
      100 * static_cast<double>(cut.across) / static_cast<double>(cut.all), seconds);
  return strake::placement::sizes_of_groups(*group_of) == sizes;
}

bool measure_all(const MappedCase& one) {
  using Groups = std::optional<std::vector<int>>;
  const Graph graph = graph_of(one.counts);
  const Graph mixed = shuffled(graph);
  const std::vector<int> sizes(static_cast<std::size_t>(graph.vertices / one.ranks_per_node),
                               one.ranks_per_node);
  const std::vector<int> dims{one.counts[2], one.counts[1], one.counts[0]};
  const auto from_strips = [&]() -> Groups {
    return map_graph(graph, sizes, {strake::placement::stencil_strips(dims, sizes)});
  };
  const auto alone = [&]() -> Groups { return map_graph(mixed, sizes); };
  const auto by_scotch = [&]() -> Groups { return strake::placement::scotch_guess(mixed, sizes); };
  const auto by_both = [&]() -> Groups {
    const Groups guess = by_scotch();
    if (!guess) return guess;
    return map_graph(mixed, sizes, {*guess});
  };
  bool right = measure("strips", graph, sizes, from_strips);
  right = measure("shuffled", mixed, sizes, alone) && right;
  right = measure("shuffled, SCOTCH alone", mixed, sizes, by_scotch) && right;
  return measure("shuffled, both", mixed, sizes, by_both) && right;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options =
      bench::parse_options(argc, argv, "Ranks of a periodic grid are mapped to nodes");
  std::vector<MappedCase> cases{{{4, 4, 4}, 8}, {{8, 8, 8}, 8}};
  if (!options.quick) cases.insert(cases.end(), {{{16, 16, 12}, 6}, {{32, 32, 32}, 8}});
  bool right = true;
  for (const MappedCase& one : cases) {
    const std::string name =
        fmt::format("{} x {} x {}", one.counts[0], one.counts[1], one.counts[2]);
    if (options.list) std::puts(name.c_str());
    if (options.list || !options.selects(name)) continue;
    right = measure_all(one) && right;
  }
  return right ? 0 : 1;
}
