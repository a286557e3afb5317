#include "placement/subgrids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>

#include "placement/nodes.hpp"
#include "strake/error.hpp"

namespace strake::placement {
namespace {

int product(const Position& counts) { return counts[0] * counts[1] * counts[2]; }

std::vector<int> consecutive_parts(std::size_t size) {
  std::vector<int> all(size);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

bool is_free(const GridToPlace& grid) {
  return std::ranges::all_of(grid.counts, [](int count) { return count == 0; });
}

Partition flat_parts(const GridToPlace& grid, std::size_t places) {
  if (is_free(grid)) return {grid.extent, static_cast<int>(places)};
  Position counts = grid.counts;
  for (int& count : counts) count = std::max(count, 1);
  if (product(counts) != static_cast<int>(places))
    throw InvalidArgument(fmt::format("a grid cut into {} x {} x {} for {} places", counts[0],
                                      counts[1], counts[2], places));
  return {grid.extent, counts};
}

/// With the shares of what parts exchange.
PlacedGrid placed(const GridToPlace& grid, const Homes& homes, PlacedGrid made) {
  const auto by_part = [&](const std::vector<int>& by_place) {
    std::vector<int> numbers(by_place.size());
    for (std::size_t place = 0; place < by_place.size(); ++place)
      numbers[static_cast<std::size_t>(made.part_of[place])] = by_place[place];
    return numbers;
  };
  made.shares = shares_of(made.parts, grid.radius, grid.periodic, by_part(homes.node_of));
  if (homes.island_of.empty()) return made;
  const Shares of_islands =
      shares_of(made.parts, grid.radius, grid.periodic, by_part(homes.island_of));
  made.islands = of_islands.network - made.shares.network;
  return made;
}

/// The cells that the parts of a grid send each other, as a graph.
Graph graph_of(const GridToPlace& grid, const Partition& parts, std::size_t places) {
  Graph graph{static_cast<int>(places), {}};
  for_each_flow(parts, grid.radius, grid.periodic, [&](const Flow& flow) {
    if (flow.from != flow.to) graph.edges.push_back({flow.from, flow.to, flow.cells});
  });
  return graph;
}

PlacedGrid flat(const GridToPlace& grid, const Homes& homes) {
  return placed(grid, homes,
                {flat_parts(grid, homes.node_of.size()),
                 consecutive_parts(homes.node_of.size()),
                 Placement::Flat,
                 {},
                 {},
                 {}});
}

/// The cells that a box of `size` gets from other boxes: the one that has most neighbours.
std::int64_t cells_around(const Index3& size, const Position& counts, const GridToPlace& grid) {
  std::int64_t with = 1;
  std::int64_t without = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    without *= size[axis];
    const int sides = grid.periodic[axis] && counts[axis] > 1 ? 2 : std::min(2, counts[axis] - 1);
    with *= size[axis] + std::int64_t{sides} * grid.radius;
  }
  return with - without;
}

template <typename Visit>
void for_each_factors(int number, const Visit& visit) {
  for (int x = 1; x <= number; ++x) {
    if (number % x != 0) continue;
    for (int y = 1; y <= number / x; ++y)
      if (number / x % y == 0) visit(Position{x, y, number / x / y});
  }
}

Index3 largest_of(const Index3& extent, const Position& counts) {
  Index3 made{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    made[axis] = (extent[axis] + counts[axis] - 1) / counts[axis];
  return made;
}

/// Nodes with equally many places; nothing: they have different numbers.
struct EvenNodes {
  int nodes = 0;
  std::vector<std::vector<int>> places;  ///< by node
};
std::optional<EvenNodes> even_nodes(const std::vector<int>& node_of) {
  EvenNodes made;
  made.nodes = 1 + std::ranges::max(node_of);
  made.places.resize(static_cast<std::size_t>(made.nodes));
  for (std::size_t place = 0; place < node_of.size(); ++place)
    made.places[static_cast<std::size_t>(node_of[place])].push_back(static_cast<int>(place));
  for (const auto& some : made.places)
    if (some.size() != made.places.front().size()) return std::nullopt;
  return made;
}

PlacedGrid nodes_first(const GridToPlace& grid, const Homes& homes, const EvenNodes& even,
                       const NodePartition& division) {
  PlacedGrid made{division.parts(),     std::vector<int>(homes.node_of.size()),
                  Placement::NodeAware, division.nodes(),
                  division.places(),    {}};
  for (int part = 0; part < static_cast<int>(homes.node_of.size()); ++part) {
    const NodePlace at = division.place_of(part);
    const int place =
        even.places[static_cast<std::size_t>(at.node)][static_cast<std::size_t>(at.number)];
    made.part_of[static_cast<std::size_t>(place)] = part;
  }
  return placed(grid, homes, std::move(made));
}

/// Parts that exchange much on one node, whatever the division.
PlacedGrid mapped(const GridToPlace& grid, const Homes& homes) {
  PlacedGrid made{flat_parts(grid, homes.node_of.size()), {}, Placement::NodeAware, {}, {}, {}};
  const Graph graph = graph_of(grid, made.parts, homes.node_of.size());
  made.part_of = ordering_of(graph, {homes.node_of}).vertex_of;
  return placed(grid, homes, std::move(made));
}

/// Each node keeps its parts; those that exchange much go to one island.
PlacedGrid on_islands(const GridToPlace& grid, const Homes& homes, PlacedGrid placed_before) {
  if (homes.island_of.empty()) return placed_before;
  // Places become vertices: the first one is the part that this place has now.
  Graph graph = graph_of(grid, placed_before.parts, homes.node_of.size());
  const std::vector<int> place_of = placed_before.place_of();
  for (Edge& edge : graph.edges) {
    edge.from = place_of[static_cast<std::size_t>(edge.from)];
    edge.to = place_of[static_cast<std::size_t>(edge.to)];
  }
  PlacedGrid made = placed_before;
  const std::vector<int> moved = order_on_islands(graph, homes);
  for (std::size_t place = 0; place < moved.size(); ++place)
    made.part_of[place] = placed_before.part_of[static_cast<std::size_t>(moved[place])];
  made.used = Placement::NodeAware;
  made = placed(grid, homes, std::move(made));
  return made.islands < placed_before.islands ? made : placed_before;
}

/// The cells that leave the nodes, then those that leave an island, then those that leave a place.
std::tuple<std::int64_t, std::int64_t, std::int64_t> cost_of(const PlacedGrid& placed) {
  return {placed.shares.network, placed.islands, placed.shares.node};
}

/// The shortest length of a part along the axes along which it has neighbours.
std::int64_t shortest_of(const Partition& parts, const std::array<bool, 3>& periodic) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int count = parts.counts()[axis];
    if (count > 1 || periodic[axis]) least = std::min(least, parts.range(axis, count - 1).size());
  }
  return least;
}

/// Nothing: nodes have equally many places, but each division has parts that are shorter than
/// `least`.
std::optional<PlacedGrid> node_aware(const GridToPlace& grid, const Homes& homes,
                                     std::int64_t least) {
  const auto even = even_nodes(homes.node_of);
  if (!even || !is_free(grid)) return mapped(grid, homes);
  const auto places = static_cast<int>(even->places.front().size());
  std::optional<PlacedGrid> best;
  const auto consider = [&](const NodePartition& division) {
    if (shortest_of(division.parts(), grid.periodic) < least) return;
    PlacedGrid made = nodes_first(grid, homes, *even, division);
    if (!best || cost_of(made) < cost_of(*best)) best = std::move(made);
  };
  consider({grid.extent, even->nodes, places});
  if (const auto factors = best_factors(grid, even->nodes, places, least))
    consider({grid.extent, factors->nodes, factors->of_node});
  return best;
}

/// The bits of a position, those of the axes in turn.
std::uint64_t morton_number(const Position& at) {
  std::uint64_t number = 0;
  for (unsigned bit = 0; bit < 21; ++bit)
    for (unsigned axis = 0; axis < 3; ++axis)
      number |= ((static_cast<std::uint64_t>(at[axis]) >> bit) & 1) << (3 * bit + axis);
  return number;
}

PlacedGrid along_curve(const GridToPlace& grid, const Homes& homes) {
  PlacedGrid made{flat_parts(grid, homes.node_of.size()),
                  consecutive_parts(homes.node_of.size()),
                  Placement::Morton,
                  {},
                  {},
                  {}};
  std::ranges::sort(made.part_of, {},
                    [&](int part) { return morton_number(made.parts.position_of(part)); });
  return placed(grid, homes, std::move(made));
}

PlacedGrid given(const GridToPlace& grid, const Homes& homes) {
  std::vector<bool> seen(homes.node_of.size(), false);
  if (grid.part_of.size() != homes.node_of.size())
    throw InvalidArgument(fmt::format("subgrids of {} places are given, of {}", grid.part_of.size(),
                                      homes.node_of.size()));
  for (std::size_t place = 0; place < homes.node_of.size(); ++place) {
    const int part = grid.part_of[place];
    if (part < 0 || part >= static_cast<int>(homes.node_of.size()) ||
        seen[static_cast<std::size_t>(part)])
      throw InvalidArgument(fmt::format(
          "place {} is given subgrid {} of {}, {}", place, part, homes.node_of.size(),
          part < 0 || part >= static_cast<int>(homes.node_of.size()) ? "which there is not"
                                                                     : "which another one has"));
    seen[static_cast<std::size_t>(part)] = true;
  }
  return placed(
      grid, homes,
      {flat_parts(grid, homes.node_of.size()), grid.part_of, Placement::Given, {}, {}, {}});
}

}  // namespace

std::vector<int> PlacedGrid::place_of() const {
  std::vector<int> made(part_of.size());
  for (std::size_t place = 0; place < part_of.size(); ++place)
    made[static_cast<std::size_t>(part_of[place])] = static_cast<int>(place);
  return made;
}

std::optional<Factors> best_factors(const GridToPlace& grid, int nodes, int places_per_node,
                                    std::int64_t least) {
  std::optional<Factors> best;
  using Cost = std::tuple<std::int64_t, std::int64_t>;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  Cost lowest{kMost, kMost};
  for_each_factors(nodes, [&](const Position& of_nodes) {
    const Index3 of_node = largest_of(grid.extent, of_nodes);
    const std::int64_t leaves = cells_around(of_node, of_nodes, grid);
    if (leaves > std::get<0>(lowest)) return;
    for_each_factors(places_per_node, [&](const Position& of_places) {
      Position all{};
      bool fits = true;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        all[axis] = of_nodes[axis] * of_places[axis];
        const bool has_neighbours = all[axis] > 1 || grid.periodic[axis];
        fits = fits && grid.extent[axis] / all[axis] >=
                           (has_neighbours ? std::max<std::int64_t>(least, 1) : 1);
      }
      const Cost cost{leaves, cells_around(largest_of(grid.extent, all), all, grid)};
      if (!fits || cost >= lowest) return;
      lowest = cost;
      best = {of_nodes, of_places};
    });
  });
  return best;
}

PlacedGrid place_grid(const GridToPlace& grid, Placement wanted, const Homes& homes) {
  if (wanted == Placement::Given) return given(grid, homes);
  if (wanted == Placement::Morton) return along_curve(grid, homes);
  PlacedGrid made = flat(grid, homes);
  if (wanted == Placement::Flat) return made;
  if (made.shares.network == 0) return on_islands(grid, homes, std::move(made));
  // Fields may have deeper ghost cells than the grid, for which parts must be long enough.
  constexpr std::int64_t kLongEnough = 16;
  const std::int64_t least = std::min(shortest_of(made.parts, grid.periodic),
                                      std::max<std::int64_t>(grid.radius, kLongEnough));
  std::optional<PlacedGrid> aware = node_aware(grid, homes, least);
  const bool is_better =
      aware && (wanted == Placement::NodeAware || cost_of(*aware) < cost_of(made));
  return on_islands(grid, homes, is_better ? *std::move(aware) : std::move(made));
}

}  // namespace strake::placement
