// Where a subdomain's bricks lie, and what goes to its neighbours.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "brick/decomposition.hpp"
#include "brick/division.hpp"
#include "strake/error.hpp"

namespace strake::brick {
namespace {

int directions(int dims) {
  int all = 1;
  for (int axis = 0; axis < dims; ++axis) all *= 3;
  return all;
}

/// A subdomain among neighbours of its own size.
Decomposition among_equals(int dims, const Coordinates& counts, const Coordinates& ghosts) {
  return {dims, counts, ghosts,
          std::vector<Coordinates>(static_cast<std::size_t>(directions(dims)), counts)};
}

int messages_to_all(const Decomposition& bricks, bool by_region) {
  int messages = 0;
  for (Region d = 0; d < directions(bricks.dims()); ++d)
    messages += static_cast<int>(bricks.sends(d, by_region).size());
  return messages;
}

TEST(BrickDecomposition, needs_as_many_messages_as_the_paper_says) {
  const std::vector<int> least = {2, 9, 42, 209, 1042};
  const std::vector<int> basic = {2, 16, 98, 544, 2882};
  for (int dims = 1; dims <= kMostDims; ++dims) {
    const Decomposition bricks = among_equals(dims, {3, 3, 3, 3, 3}, {1, 1, 1, 1, 1});
    EXPECT_EQ(messages_to_all(bricks, false), least[static_cast<std::size_t>(dims - 1)]);
    EXPECT_EQ(messages_to_all(bricks, true), basic[static_cast<std::size_t>(dims - 1)]);
  }
}

/// Each brick that is stored has one number and one position, and interior bricks are owned.
void expect_numbered(const Decomposition& bricks) {
  const std::vector<Coordinates> positions = bricks.positions();
  EXPECT_EQ(std::set<Coordinates>(positions.begin(), positions.end()).size(), positions.size());
  for (std::size_t number = 0; number < positions.size(); ++number) {
    EXPECT_EQ(bricks.brick_at(positions[number]), static_cast<std::int32_t>(number));
    bool owned = true;
    bool inside = true;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(bricks.dims()); ++axis) {
      const int at = positions[number][axis];
      owned = owned && at >= 0 && at < bricks.counts()[axis];
      inside = inside && at >= bricks.ghosts()[axis] &&
               at < bricks.counts()[axis] - bricks.ghosts()[axis];
    }
    EXPECT_EQ(owned, static_cast<std::int32_t>(number) < bricks.owned());
    EXPECT_EQ(inside, static_cast<std::int32_t>(number) < bricks.interior());
  }
}

/// Compares what each part of a grid sends its neighbours with what these receive: brick by brick,
/// by global position.
void expect_fitting(const BricksToDivide& grid, int parts) {
  const Division division(grid, parts);
  std::vector<Decomposition> all;
  std::vector<std::vector<Coordinates>> positions;
  for (int part = 0; part < parts; ++part) {
    all.emplace_back(grid.dims, division.size_of(part), grid.ghosts,
                     division.neighbour_sizes(part));
    positions.push_back(all.back().positions());
  }
  const auto global = [&](int part, std::int32_t number) {
    Coordinates position =
        positions[static_cast<std::size_t>(part)][static_cast<std::size_t>(number)];
    const Coordinates lower = division.lower_of(part);
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid.dims); ++axis)
      position[axis] = (position[axis] + lower[axis] + grid.bricks[axis]) % grid.bricks[axis];
    return position;
  };
  for (int part = 0; part < parts; ++part) {
    const Decomposition& here = all[static_cast<std::size_t>(part)];
    expect_numbered(here);
    std::int32_t received = 0;
    for (Region d = 0; d < directions(grid.dims); ++d) {
      const auto other = division.neighbour(part, d);
      if (!other || d == directions(grid.dims) / 2) continue;
      const Decomposition& there = all[static_cast<std::size_t>(*other)];
      for (const bool by_region : {false, true}) {
        const auto sent = there.sends(directions(grid.dims) - 1 - d, by_region);
        const auto got = here.receives(d, by_region);
        ASSERT_EQ(sent.size(), got.size());
        for (std::size_t i = 0; i < sent.size(); ++i) {
          ASSERT_EQ(sent[i].count, got[i].count);
          if (by_region) received += got[i].count;
          for (std::int32_t j = 0; j < sent[i].count; ++j)
            ASSERT_EQ(global(*other, sent[i].first + j), global(part, got[i].first + j));
        }
      }
    }
    if (std::ranges::all_of(grid.periodic, [](bool is) { return is; })) {
      EXPECT_EQ(received, here.stored() - here.owned());
    }
  }
}

TEST(BrickDecomposition, neighbours_send_what_is_received) {
  constexpr std::array<bool, kMostDims> kPeriodic{true, true, true, true, true};
  expect_fitting({1, {7}, {8}, {2}, kPeriodic, {}}, 3);
  expect_fitting({2, {9, 7}, {8, 8}, {1, 2}, kPeriodic, {}}, 6);
  expect_fitting({2, {9, 7}, {8, 8}, {2, 1}, {}, {}}, 4);
  expect_fitting({3, {7, 6, 5}, {8, 8, 8}, {1, 1, 1}, kPeriodic, {}}, 8);
  expect_fitting({3, {20, 28, 6}, {8, 8, 8}, {1, 1, 1}, kPeriodic, {}}, 1);  // in tiles
  expect_fitting({3, {7, 6, 5}, {16, 4, 4}, {1, 1, 2}, {true, false, true}, {}}, 4);
  expect_fitting({4, {4, 3, 5, 4}, {4, 4, 4, 4}, {1, 1, 1, 1}, kPeriodic, {}}, 4);
  expect_fitting({5, {3, 2, 3, 2, 4}, {4, 4, 4, 4, 4}, {1, 1, 1, 1, 1}, kPeriodic, {}}, 2);
}

TEST(BrickDecomposition, thin_subdomains_send_the_same_bricks_to_both_sides) {
  constexpr std::array<bool, kMostDims> kPeriodic{true, true, true, true, true};
  // A subdomain of one brick, and those of three with two of ghosts.
  expect_fitting({3, {2, 2, 2}, {8, 8, 8}, {1, 1, 1}, kPeriodic, {}}, 8);
  expect_fitting({2, {3, 6}, {8, 8}, {2, 2}, kPeriodic, {}}, 2);
  expect_fitting({1, {7}, {8}, {2}, kPeriodic, {}}, 2);
  const Decomposition one = among_equals(3, {1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(one.owned(), 1);
  EXPECT_EQ(one.interior(), 0);
  EXPECT_EQ(one.stored(), 27);
  EXPECT_EQ(messages_to_all(one, false), 26);
}

TEST(BrickDecomposition, axes_without_ghosts_have_none) {
  const Decomposition bricks = among_equals(3, {4, 5, 6}, {1, 0, 1});
  expect_numbered(bricks);
  EXPECT_EQ(bricks.stored(), 6 * 5 * 8);
  EXPECT_EQ(messages_to_all(bricks, false), 9);  // of two axes
  const Decomposition none = among_equals(2, {3, 3}, {0, 0});
  EXPECT_EQ(none.interior(), 9);
  EXPECT_EQ(messages_to_all(none, false), 0);
}

std::string refusal(const std::function<void()>& make) {
  try {
    make();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

TEST(BrickDecomposition, wrong_numbers_are_refused) {
  EXPECT_EQ(refusal([] {
              (void)among_equals(2, {4, 1}, {1, 2});
            }),
            "a subdomain of 4 x 1 bricks, with 1 x 2 ghost bricks on each side");
  EXPECT_EQ(
      refusal([] {
        (void)Division({2, {4, 4}, {8, 8}, {2, 2}, {}, {}}, 8);
      }),
      "4 x 4 bricks with 2 x 2 ghost bricks on each side for 8 ranks: no axis can be cut into 2 "
      "more: take smaller bricks or ghosts, or fewer ranks");
  EXPECT_EQ(refusal([] {
              (void)Division({2, {4, 4}, {8, 8}, {1, 1}, {}, {2, 3}}, 8);
            }),
            "bricks cut into 2 x 3 parts for 8 ranks");
  EXPECT_EQ(
      refusal([] {
        (void)Division({2, {4, 4}, {8, 8}, {2, 1}, {}, {4, 2}}, 8);
      }),
      "4 x 4 bricks cut into 4 x 2 parts: along axis 0 a part has 1 bricks, fewer than the 2 of "
      "its ghosts on each side");
}

TEST(BrickDivision, takes_cells_as_whole_bricks) {
  const auto bricks = [](std::vector<std::int64_t> extent, std::vector<int> shape, int ghost) {
    return bricks_to_divide(extent, shape, ghost);
  };
  const BricksToDivide made = bricks({64, 48}, {8, 16}, 9);
  EXPECT_EQ(made.dims, 2);
  EXPECT_EQ(made.bricks, (Coordinates{8, 3, 1, 1, 1}));
  EXPECT_EQ(made.lengths, (Coordinates{8, 16, 1, 1, 1}));
  EXPECT_EQ(made.ghosts, (Coordinates{2, 1, 0, 0, 0}));
  EXPECT_EQ(bricks({8}, {8}, std::numeric_limits<int>::max()).ghosts[0], 1 << 28);
  EXPECT_EQ(refusal([&] { (void)bricks({std::int64_t{8} << 32}, {8}, 1); }),
            "a grid of 34359738368 cells along axis 0 with bricks of 8: it has to be a multiple of "
            "the brick, such as 8589934584 or 8589934592");
}

TEST(BrickDivision, cuts_the_longest_axis) {
  EXPECT_EQ(Division({3, {8, 8, 8}, {8, 8, 8}, {1, 1, 1}, {}, {}}, 8).counts(),
            (Coordinates{2, 2, 2, 1, 1}));
  // By cells, not by bricks.
  EXPECT_EQ(Division({2, {8, 8}, {16, 4}, {1, 1}, {}, {}}, 4).counts(),
            (Coordinates{4, 1, 1, 1, 1}));
  // An axis of too few bricks stays.
  EXPECT_EQ(Division({2, {3, 2}, {8, 32}, {1, 2}, {}, {}}, 3).counts(),
            (Coordinates{3, 1, 1, 1, 1}));
}

}  // namespace
}  // namespace strake::brick
