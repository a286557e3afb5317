// Which subgrid each rank gets, by strategy, and that ghost cells come whichever it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "cells.hpp"
#include "place.hpp"
#include "refusal.hpp"
#include "strake/grid.hpp"
#include "world.hpp"

namespace strake {
namespace {

constexpr Index3 kExtent{12, 26, 8};

/// The lower corners of all ranks' first subgrids.
std::vector<Index3> lower_corners(const Grid& grid) {
  std::vector<Index3> all(static_cast<std::size_t>(ranks()));
  const Index3 own = grid.owned().lower;
  MPI_Allgather(own.data(), 3, MPI_INT64_T, all.data(), 3, MPI_INT64_T, MPI_COMM_WORLD);
  return all;
}

/// By part, x fastest: as the corners are in order of z, y, x.
bool is_in_order(const std::vector<Index3>& corners) {
  return std::ranges::is_sorted(corners, [](const Index3& a, const Index3& b) {
    return std::array{a[2], a[1], a[0]} < std::array{b[2], b[1], b[0]};
  });
}

void expect_ghosts(GridOptions options) {
  options.radius = 2;
  options.periodic = {true, false, true};
  options.place = place();
  Grid grid(MPI_COMM_WORLD, kExtent, options);
  const auto field = grid.add<std::int64_t>("f");
  fill(field.view(), 0, 1);
  grid.exchange().wait();
  check(field.view(), {.grid = grid, .periodic = options.periodic, .radius = 2, .extent = kExtent},
        0, 1);
}

TEST(Placing, ghost_cells_come_by_every_strategy) {
  for (const Placement placement : {Placement::Best, Placement::Model, Placement::NodeAware,
                                    Placement::Flat, Placement::Morton}) {
    SCOPED_TRACE(static_cast<int>(placement));
    expect_ghosts({.placement = placement});
    expect_ghosts({.counts = {1, ranks(), 1}, .placement = placement});
  }
  std::vector<int> reversed(static_cast<std::size_t>(ranks()));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  expect_ghosts({.placement = Placement::Given, .subgrid_of = reversed});
}

TEST(Placing, flat_and_given_orders_are_as_they_say) {
  const Grid flat(MPI_COMM_WORLD, kExtent, {.placement = Placement::Flat});
  EXPECT_TRUE(is_in_order(lower_corners(flat)));
  std::vector<int> reversed(static_cast<std::size_t>(ranks()));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const Grid given(MPI_COMM_WORLD, kExtent,
                   {.placement = Placement::Given, .subgrid_of = reversed});
  std::vector<Index3> corners = lower_corners(given);
  std::ranges::reverse(corners);
  EXPECT_TRUE(is_in_order(corners));
}

TEST(Placing, ranks_of_a_node_get_neighbouring_parts) {
  if (ranks_per_node() >= ranks() || ranks_per_node() == 1)
    GTEST_SKIP() << "one node, or no choice";
  // A communicator whose ranks are on the nodes in turns, and a grid that is cut along x alone.
  const int key = rank() % ranks_per_node() * ranks() + rank() / ranks_per_node();
  MPI_Comm dealt = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, key, &dealt);
  {
    const Grid best(dealt, std::array{64 * ranks(), 4, 4}, {.counts = {ranks(), 1, 1}});
    const std::vector<Index3> corners = lower_corners(best);
    for (int first = 0; first < ranks(); first += ranks_per_node()) {
      std::vector<std::int64_t> along;
      for (int one = first; one < std::min(ranks(), first + ranks_per_node()); ++one)
        along.push_back(corners[static_cast<std::size_t>(one)][0]);
      std::ranges::sort(along);
      EXPECT_EQ(along.back() - along.front(), 64 * (std::ssize(along) - 1));
    }
    EXPECT_NE(best.plan().find("placed node-aware: "), std::string::npos) << best.plan();
    const Grid flat(dealt, std::array{64 * ranks(), 4, 4},
                    {.counts = {ranks(), 1, 1}, .placement = Placement::Flat});
    EXPECT_NE(flat.plan().find("placed flat: 100.0 % of the bytes leave the nodes"),
              std::string::npos)
        << flat.plan();
  }
  MPI_Comm_free(&dealt);
}

TEST(Placing, another_radius_and_extent_keep_the_placement) {
  for (const Placement placement : {Placement::Best, Placement::Morton}) {
    const Grid first(MPI_COMM_WORLD, kExtent, {.placement = placement});
    GridOptions same = first.with_this_placement();
    expect_ghosts(same);  // of another radius
    const Index3 longer{2 * kExtent[0], kExtent[1], kExtent[2]};
    same.radius = 3;
    const Grid second(MPI_COMM_WORLD, longer, same);
    const std::vector<Index3> before = lower_corners(first);
    const std::vector<Index3> after = lower_corners(second);
    const auto order_of = [](const std::vector<Index3>& corners) {
      std::vector<std::size_t> order(corners.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::stable_sort(order, {}, [&](std::size_t i) { return corners[i]; });
      return order;
    };
    EXPECT_EQ(order_of(before), order_of(after));
    EXPECT_EQ(second.owned().upper[1], first.owned().upper[1]);
  }
}

TEST(Placing, wrong_orders_are_refused_on_all_ranks) {
  const auto refused = [](const GridOptions& options) {
    return refusal_on_all([&] { const Grid grid(MPI_COMM_WORLD, kExtent, options); });
  };
  EXPECT_EQ(refused({.subgrid_of = {0}}),
            "GridOptions::subgrid_of is given, and the placement is not Placement::Given");
  std::vector<int> order(static_cast<std::size_t>(ranks()));
  std::iota(order.begin(), order.end(), 1);
  EXPECT_EQ(refused({.placement = Placement::Given, .subgrid_of = order}),
            "place " + std::to_string(ranks() - 1) + " is given subgrid " +
                std::to_string(ranks()) + " of " + std::to_string(ranks()) +
                ", which there is not");
  EXPECT_EQ(refused({.placement = Placement::Given}),
            "subgrids of 0 places are given, of " + std::to_string(ranks()));
  if (ranks() == 1) return;
  GridOptions differ;
  if (rank() == culprit()) differ.placement = Placement::Morton;
  EXPECT_NE(refused(differ).find("GridOptions::placement is"), std::string::npos);
}

}  // namespace
}  // namespace strake
