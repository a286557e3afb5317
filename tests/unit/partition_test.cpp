#include "placement/partition.hpp"

#include <gtest/gtest.h>

#include <set>

namespace strake::placement {
namespace {

TEST(Partition, prime_factors_divide_the_longest_axis) {
  EXPECT_EQ(Partition({512, 512, 512}, 8).counts(), (Position{2, 2, 2}));
  EXPECT_EQ(Partition({512, 512, 512}, 6).counts(), (Position{1, 2, 3}));
  EXPECT_EQ(Partition({100, 800, 200}, 8).counts(), (Position{1, 4, 2}));
  EXPECT_EQ(Partition({64, 64, 1}, 16).counts(), (Position{4, 4, 1}));
  EXPECT_EQ(Partition({1000, 1, 1}, 7).counts(), (Position{7, 1, 1}));
  EXPECT_EQ(Partition({4096, 4096, 4096}, 4096 * 6).counts(), (Position{32, 32, 24}));
}

TEST(Partition, each_cell_has_one_part_and_sizes_differ_by_one_at_most) {
  for (int parts = 1; parts <= 24; ++parts) {
    const Partition partition({7, 5, 3}, parts);
    std::set<std::array<std::int64_t, 3>> cells;
    for (int part = 0; part < parts; ++part) {
      const Position at = partition.position_of(part);
      EXPECT_EQ(partition.part_at(at), part);
      const auto x = partition.range(0, at[0]), y = partition.range(1, at[1]),
                 z = partition.range(2, at[2]);
      EXPECT_EQ(partition.has_cells(part), x.size() * y.size() * z.size() > 0);
      for (std::int64_t k = z.begin; k < z.end; ++k)
        for (std::int64_t j = y.begin; j < y.end; ++j)
          for (std::int64_t i = x.begin; i < x.end; ++i)
            EXPECT_TRUE(cells.insert({i, j, k}).second);
    }
    EXPECT_EQ(cells.size(), 7U * 5 * 3) << parts;
    for (std::size_t axis = 0; axis < 3; ++axis)
      EXPECT_LE(partition.range(axis, 0).size() -
                    partition.range(axis, partition.counts()[axis] - 1).size(),
                1);
  }
}

TEST(Partition, neighbours_wrap_only_where_the_grid_is_periodic) {
  const Partition partition({8, 4, 1}, 8);
  ASSERT_EQ(partition.counts(), (Position{4, 2, 1}));
  const std::array<bool, 3> open{};
  EXPECT_EQ(partition.neighbour(0, {1, 0, 0}, open), 1);
  EXPECT_EQ(partition.neighbour(0, {1, 1, 0}, open), 5);
  EXPECT_EQ(partition.neighbour(0, {-1, 0, 0}, open), std::nullopt);
  EXPECT_EQ(partition.neighbour(0, {-1, 1, 0}, {true, false, false}), 7);
  EXPECT_EQ(partition.neighbour(0, {-1, -1, 0}, {true, false, false}), std::nullopt);
  EXPECT_EQ(partition.neighbour(0, {0, 0, 1}, {true, true, true}), 0);
}

TEST(Partition, parts_without_cells_are_nobodys_neighbours) {
  const Partition partition({3, 1, 1}, 5);
  EXPECT_EQ(partition.used(0), 3);
  EXPECT_FALSE(partition.has_cells(4));
  EXPECT_EQ(partition.neighbour(2, {1, 0, 0}, {true, true, true}), 0);
  EXPECT_EQ(partition.neighbour(0, {-1, 0, 0}, {true, true, true}), 2);
}

}  // namespace
}  // namespace strake::placement
