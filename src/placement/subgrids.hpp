/// \file  Divides a grid among the places of a job, and gives each place its part. Source:
/// dissertation 4.3, 4.4.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "placement/ordering.hpp"
#include "placement/partition.hpp"
#include "placement/traffic.hpp"
#include "strake/placement.hpp"

namespace strake::placement {

struct GridToPlace {
  Index3 extent{1, 1, 1};
  Position counts{};  ///< of parts along each axis; zeroes: free
  int radius = 1;
  std::array<bool, 3> periodic{};
  std::vector<int> part_of{};  ///< by place, of Placement::Given
};

/// A grid whose parts have places.
struct PlacedGrid {
  Partition parts;
  std::vector<int> part_of;  ///< by place
  Placement used = Placement::Flat;
  std::optional<Position> nodes;    ///< along each axis, where the grid is divided among them first
  std::optional<Position> of_node;  ///< parts of a node
  Shares shares;                    ///< [cells]
  std::int64_t islands = 0;         ///< cells that leave an island and stay in its node
  [[nodiscard]] std::vector<int> place_of() const;  ///< by part
};

/// By Best never more leaves the nodes than by Flat. On one node without islands NodeAware is Flat.
/// Then the parts of each node go to its islands, by Best and NodeAware. Where the grid is divided
/// among nodes first, no part is shorter than the shortest one of Flat, unless it has 16 cells and
/// no fewer than the radius.
///
/// \param homes   by place
/// \param wanted  Model is taken for Best
///
/// Cost: 26 steps a part, and as map_graph() where nodes have different numbers of places, counts
/// are given, or nodes have islands.
/// \throws InvalidArgument  `counts` of another number of parts than places; `part_of` is no
/// permutation of them; the message has the values
[[nodiscard]] PlacedGrid place_grid(const GridToPlace& grid, Placement wanted, const Homes& homes);

/// The division among nodes first, along axes so that the fewest cells leave a node, and then a
/// part: all ways to factor both numbers are compared. Better than bisection where extents or
/// counts are odd. Nothing: each way has parts that are shorter than `least` along an axis along
/// which they have neighbours.
struct Factors {
  Position nodes{1, 1, 1};
  Position of_node{1, 1, 1};
};
[[nodiscard]] std::optional<Factors> best_factors(const GridToPlace& grid, int nodes,
                                                  int places_per_node, std::int64_t least);

}  // namespace strake::placement
