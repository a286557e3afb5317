// The order of surface regions in memory, and how many messages it takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "brick/order.hpp"
#include "strake/error.hpp"

namespace strake::brick {
namespace {

/// Numbers of messages in 1 to 5 dimensions: table 1 of Zhao et al. (2021).
constexpr std::array<int, kMostDims> kNeighbours = {2, 8, 26, 80, 242};
constexpr std::array<int, kMostDims> kLayout = {2, 9, 42, 209, 1042};
constexpr std::array<int, kMostDims> kBasic = {2, 16, 98, 544, 2882};

int row_of(const std::array<int, kMostDims>& table, int dims) {
  return table[static_cast<std::size_t>(dims) - 1];
}

/// Counts the runs of each neighbour one by one.
int counted_messages(int dims, const std::vector<Region>& order) {
  int messages = 0;
  for (const Region neighbour : regions_of(dims)) {
    bool before = false;
    for (const Region region : order) {
      const bool goes = goes_to(region, neighbour);
      messages += goes && !before ? 1 : 0;
      before = goes;
    }
  }
  return messages;
}

/// The fewest messages of all orders, each of which is counted.
int fewest_of_all_orders(int dims) {
  std::vector<Region> order = regions_of(dims);
  int fewest = messages_of(dims, order);
  while (std::ranges::next_permutation(order).found)
    fewest = std::min(fewest, messages_of(dims, order));
  return fewest;
}

TEST(BrickOrder, regions_are_numbered_by_their_signs) {
  EXPECT_EQ(sign_of(0, 0), -1);
  EXPECT_EQ(sign_of(5, 0), 1);  // (1, 0)
  EXPECT_EQ(sign_of(5, 1), 0);
  EXPECT_EQ(sign_of(13 + 9, 2), 1);
  EXPECT_EQ(regions_of(2), (std::vector<Region>{0, 1, 2, 3, 5, 6, 7, 8}));
  for (int dims = 1; dims <= kMostDims; ++dims)
    EXPECT_EQ(static_cast<int>(regions_of(dims).size()), row_of(kNeighbours, dims));
}

TEST(BrickOrder, a_corner_goes_to_three_neighbours_and_a_side_to_one) {
  // In two dimensions: low and left is 0, low is 1, left is 3.
  std::vector<Region> of_corner, of_side;
  for (const Region neighbour : regions_of(2)) {
    if (goes_to(0, neighbour)) of_corner.push_back(neighbour);
    if (goes_to(3, neighbour)) of_side.push_back(neighbour);
  }
  EXPECT_EQ(of_corner, (std::vector<Region>{0, 1, 3}));
  EXPECT_EQ(of_side, (std::vector<Region>{3}));
  EXPECT_EQ(common_neighbours(2, 0, 0), 3);
  EXPECT_EQ(common_neighbours(2, 0, 3), 1);
  EXPECT_EQ(common_neighbours(2, 1, 3), 0);
}

TEST(BrickOrder, messages_are_the_runs_of_all_neighbours) {
  std::mt19937 random(5);
  for (int dims = 1; dims <= 4; ++dims) {
    std::vector<Region> order = regions_of(dims);
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(messages_of(dims, order), counted_messages(dims, order)) << dims;
      for (std::size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[random() % left]);
    }
  }
  EXPECT_EQ(messages_of(2, regions_of(2)), 12);  // row by row: the paper's figure 2
}

TEST(BrickOrder, bounds_are_those_of_the_paper) {
  for (int dims = 1; dims <= kMostDims; ++dims) {
    EXPECT_EQ(least_messages(dims), row_of(kLayout, dims));
    EXPECT_EQ(basic_messages(dims), row_of(kBasic, dims));
    int by_itself = 0;
    for (const Region region : regions_of(dims))
      by_itself += common_neighbours(dims, region, region);
    EXPECT_EQ(basic_messages(dims), by_itself);
  }
}

TEST(BrickOrder, no_order_of_one_or_two_dimensions_beats_the_bound) {
  EXPECT_EQ(fewest_of_all_orders(1), least_messages(1));
  EXPECT_EQ(fewest_of_all_orders(2), least_messages(2));
}

TEST(BrickOrder, kept_orders_reach_the_bound) {
  for (int dims = 1; dims <= kMostDims; ++dims) {
    EXPECT_EQ(messages_of(dims, best_order(dims)), row_of(kLayout, dims));
    EXPECT_EQ(counted_messages(dims, best_order(dims)), row_of(kLayout, dims));
  }
}

TEST(BrickOrder, a_search_reaches_the_bound_with_any_seed) {
  for (int dims = 1; dims <= kMostDims; ++dims)
    for (std::uint32_t seed = 0; seed < 20; ++seed)
      EXPECT_EQ(messages_of(dims, search_order(dims, {.seed = seed})), row_of(kLayout, dims))
          << dims << " dimensions, seed " << seed;
}

TEST(BrickOrder, equal_seeds_find_equal_orders) {
  EXPECT_EQ(search_order(4, {.seed = 7}), search_order(4, {.seed = 7}));
  EXPECT_NE(search_order(4, {.seed = 7}), search_order(4, {.seed = 8}));
}

TEST(BrickOrder, one_round_gives_an_order_of_all_regions) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const int messages = messages_of(5, search_order(5, {.seed = seed, .rounds = 1}));
    EXPECT_GE(messages, least_messages(5));
    EXPECT_LE(messages, least_messages(5) + 10);
  }
}

TEST(BrickOrder, bad_arguments_are_refused) {
  for (const int dims : {-1, 0, kMostDims + 1}) {
    EXPECT_THROW((void)regions_of(dims), InvalidArgument);
    EXPECT_THROW((void)messages_of(dims, {}), InvalidArgument);
    EXPECT_THROW((void)least_messages(dims), InvalidArgument);
    EXPECT_THROW((void)basic_messages(dims), InvalidArgument);
    EXPECT_THROW((void)search_order(dims), InvalidArgument);
    EXPECT_THROW((void)best_order(dims), InvalidArgument);
  }
  using Order = std::vector<Region>;
  EXPECT_THROW((void)messages_of(1, Order{0}), InvalidArgument);      // too few
  EXPECT_THROW((void)messages_of(1, Order{0, 1}), InvalidArgument);   // interior
  EXPECT_THROW((void)messages_of(1, Order{0, 0}), InvalidArgument);   // twice
  EXPECT_THROW((void)messages_of(1, Order{0, 3}), InvalidArgument);   // unknown
  EXPECT_THROW((void)messages_of(1, Order{-1, 2}), InvalidArgument);  // unknown
  EXPECT_THROW((void)messages_of(2, Order{0, 1, 2, 3, 4, 5, 6, 7, 8}), InvalidArgument);
  EXPECT_THROW((void)search_order(3, {.rounds = 0}), InvalidArgument);
}

}  // namespace
}  // namespace strake::brick
