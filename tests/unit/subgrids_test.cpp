// Which place gets which part of a grid.
#include "placement/subgrids.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "strake/error.hpp"

namespace strake::placement {
namespace {

std::vector<int> consecutive(int nodes, int places) {
  std::vector<int> made;
  for (int node = 0; node < nodes; ++node)
    made.insert(made.end(), static_cast<std::size_t>(places), node);
  return made;
}
std::vector<int> in_turns(int nodes, int places) {
  std::vector<int> made;
  for (int place = 0; place < nodes * places; ++place) made.push_back(place % nodes);
  return made;
}

void expect_permutation(const PlacedGrid& placed) {
  std::vector<int> sorted = placed.part_of;
  std::ranges::sort(sorted);
  std::vector<int> all(sorted.size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sorted, all);
  const std::vector<int> place_of = placed.place_of();
  for (std::size_t place = 0; place < all.size(); ++place)
    EXPECT_EQ(place_of[static_cast<std::size_t>(placed.part_of[place])], static_cast<int>(place));
}

TEST(PlacedGrid, one_node_is_as_if_there_were_no_nodes) {
  for (const Placement wanted : {Placement::Best, Placement::NodeAware, Placement::Flat}) {
    const PlacedGrid placed =
        place_grid({{64, 64, 64}, {}, 1, {}, {}}, wanted, {consecutive(1, 8)});
    EXPECT_EQ(placed.used, Placement::Flat);
    EXPECT_EQ(placed.part_of, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(placed.shares.network, 0);
  }
}

TEST(PlacedGrid, less_leaves_islands_of_one_node) {
  // 8 places on two islands in turns: flat parts alternate along x.
  const GridToPlace grid{{64, 64, 64}, {}, 1, {}, {}};
  const Homes homes{consecutive(1, 8), in_turns(2, 4)};
  const PlacedGrid flat = place_grid(grid, Placement::Flat, homes);
  EXPECT_EQ(flat.part_of, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  const PlacedGrid best = place_grid(grid, Placement::Best, homes);
  expect_permutation(best);
  // A cut across one axis either way, and flat parts differ along x by one.
  EXPECT_EQ(best.islands, flat.islands);
  const Homes paired{consecutive(1, 8), {0, 1, 1, 0, 1, 0, 0, 1}};
  const PlacedGrid apart = place_grid(grid, Placement::Flat, paired);
  const PlacedGrid together = place_grid(grid, Placement::Best, paired);
  expect_permutation(together);
  EXPECT_EQ(together.used, Placement::NodeAware);
  EXPECT_EQ(together.islands, best.islands);
  EXPECT_LT(together.islands, apart.islands);
  EXPECT_EQ(together.shares.network, 0);
}

TEST(PlacedGrid, islands_change_nothing_between_nodes) {
  const GridToPlace grid{{96, 80, 64}, {}, 2, {true, false, true}, {}};
  const Homes nodes{consecutive(4, 8)};
  Homes islands{nodes.node_of, {}};
  for (int place = 0; place < 32; ++place) islands.island_of.push_back(2 * (place / 8) + place % 2);
  const PlacedGrid without = place_grid(grid, Placement::NodeAware, nodes);
  const PlacedGrid with = place_grid(grid, Placement::NodeAware, islands);
  expect_permutation(with);
  EXPECT_EQ(with.parts.counts(), without.parts.counts());
  EXPECT_EQ(with.shares.network, without.shares.network);
  EXPECT_EQ(without.islands, 0);
  EXPECT_GT(with.islands, 0);
}

TEST(PlacedGrid, less_leaves_nodes_than_flat) {
  // The paper's: 512 nodes of 6, shares of its section 4.4, by its ties.
  const GridToPlace grid{{3072, 2048, 1024}, {}, 3, {true, true, true}, {}};
  const std::vector<int> node_of = consecutive(64, 6);
  const PlacedGrid flat = place_grid(grid, Placement::Flat, {node_of});
  const PlacedGrid best = place_grid(grid, Placement::Best, {node_of});
  EXPECT_EQ(best.used, Placement::NodeAware);
  expect_permutation(best);
  EXPECT_LT(best.shares.network, 0.8 * static_cast<double>(flat.shares.network));
  ASSERT_TRUE(best.nodes && best.of_node);
}

TEST(PlacedGrid, ranks_dealt_to_nodes_in_turns_are_gathered) {
  const GridToPlace grid{{128, 128, 128}, {}, 1, {}, {}};
  const PlacedGrid flat = place_grid(grid, Placement::Flat, {in_turns(4, 8)});
  const PlacedGrid best = place_grid(grid, Placement::Best, {in_turns(4, 8)});
  expect_permutation(best);
  EXPECT_LT(best.shares.network, 0.6 * static_cast<double>(flat.shares.network));
  const PlacedGrid ordered = place_grid(grid, Placement::Best, {consecutive(4, 8)});
  EXPECT_EQ(best.shares.network, ordered.shares.network);
}

TEST(PlacedGrid, uneven_nodes_and_given_counts_are_mapped) {
  const std::vector<int> uneven = {0, 1, 2, 0, 1, 0, 1, 0, 2, 1, 1, 0};
  const GridToPlace grid{{96, 64, 32}, {}, 2, {false, true, false}, {}};
  for (const Position& counts : {Position{}, Position{2, 3, 2}, Position{12, 1, 1}}) {
    GridToPlace wanted = grid;
    wanted.counts = counts;
    const PlacedGrid flat = place_grid(wanted, Placement::Flat, {uneven});
    const PlacedGrid best = place_grid(wanted, Placement::NodeAware, {uneven});
    expect_permutation(best);
    EXPECT_LT(best.shares.network, flat.shares.network);
    if (counts[0] != 0) {
      EXPECT_EQ(best.parts.counts(), counts);
    }
  }
}

TEST(PlacedGrid, factors_need_not_be_those_of_bisection) {
  // 6 nodes of a cube: 3 x 2 x 1, along whichever axes.
  const GridToPlace grid{{60, 60, 60}, {}, 1, {}, {}};
  const Factors found = best_factors(grid, 6, 4, 1).value();
  Position sorted = found.nodes;
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, (Position{1, 2, 3}));
  EXPECT_EQ(found.of_node[0] * found.of_node[1] * found.of_node[2], 4);
  // A plane has no third axis to cut.
  const Factors plane = best_factors({{64, 64, 1}, {}, 2, {}, {}}, 4, 4, 2).value();
  EXPECT_EQ(plane.nodes, (Position{2, 2, 1}));
  EXPECT_EQ(plane.of_node, (Position{2, 2, 1}));
}

TEST(PlacedGrid, parts_are_no_shorter_than_flat_ones) {
  // Fewer cells would leave the nodes by slabs of a node that are one cell thin.
  const GridToPlace grid{{8, 40, 40}, {}, 1, {true, true, true}, {}};
  const auto node_of = consecutive(4, 2);
  const PlacedGrid flat = place_grid(grid, Placement::Flat, {node_of});
  const PlacedGrid best = place_grid(grid, Placement::NodeAware, {node_of});
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int count = best.parts.counts()[axis];
    EXPECT_GE(best.parts.range(axis, count - 1).size(), 8);
    EXPECT_GE(flat.parts.range(axis, flat.parts.counts()[axis] - 1).size(), 8);
  }
  EXPECT_FALSE(best_factors({{8, 8, 1}, {}, 1, {}, {}}, 4, 4, 5));
}

TEST(PlacedGrid, never_worse_than_flat) {
  for (const int nodes : {2, 3, 5, 7})
    for (const int places : {1, 2, 3, 6})
      for (const Index3& extent : {Index3{64, 64, 64}, Index3{210, 30, 11}, Index3{500, 40, 1}}) {
        const GridToPlace grid{extent, {}, 1, {true, false, false}, {}};
        const auto node_of = consecutive(nodes, places);
        const PlacedGrid flat = place_grid(grid, Placement::Flat, {node_of});
        const PlacedGrid best = place_grid(grid, Placement::Best, {node_of});
        EXPECT_LE(best.shares.network, flat.shares.network) << nodes << " x " << places;
        expect_permutation(best);
      }
}

TEST(PlacedGrid, a_curve_and_a_given_order) {
  const GridToPlace grid{{64, 64, 1}, {4, 4, 1}, 1, {}, {}};
  const PlacedGrid curve = place_grid(grid, Placement::Morton, {consecutive(4, 4)});
  EXPECT_EQ(curve.part_of,
            (std::vector<int>{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}));
  GridToPlace given{{8, 1, 1}, {}, 1, {}, {3, 2, 1, 0}};
  EXPECT_EQ(place_grid(given, Placement::Given, {consecutive(2, 2)}).part_of, given.part_of);
  const auto refusal = [&](const std::vector<int>& part_of) -> std::string {
    given.part_of = part_of;
    try {
      (void)place_grid(given, Placement::Given, {consecutive(2, 2)});
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(refusal({0, 1, 2}), "subgrids of 3 places are given, of 4");
  EXPECT_EQ(refusal({0, 1, 2, 4}), "place 3 is given subgrid 4 of 4, which there is not");
  EXPECT_EQ(refusal({0, 1, 1, 2}), "place 2 is given subgrid 1 of 4, which another one has");
  EXPECT_EQ(refusal({0, 1, 3, 2}), "");
}

}  // namespace
}  // namespace strake::placement
