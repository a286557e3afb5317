/// \file  The index space of grids.
#include "strake/box.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "strake/layout.hpp"

namespace strake {
namespace {

constexpr Box kBox{{2, 3, 4}, {7, 9, 11}};

TEST(Boxes, directions_are_26_and_numbered_by_their_opposites) {
  std::set<int> numbers;
  int faces = 0, edges = 0, corners = 0;
  for (const Direction d : kDirections) {
    numbers.insert(d.number());
    EXPECT_EQ(Direction::of_number(d.number()), d);
    EXPECT_EQ((-d).number(), 26 - d.number());
    faces += d.order() == 1 ? 1 : 0;
    edges += d.order() == 2 ? 1 : 0;
    corners += d.order() == 3 ? 1 : 0;
  }
  EXPECT_EQ(numbers.size(), 26U);
  EXPECT_EQ(faces, 6);
  EXPECT_EQ(edges, 12);
  EXPECT_EQ(corners, 8);
}

TEST(Boxes, borders_and_ghosts_tell_what_is_within_a_depth) {
  constexpr std::int64_t kDepth = 2;
  const Box all = grown(kBox, kDepth);
  const auto side = [](const Box& box, std::int64_t at, std::size_t axis) {
    return at < box.lower[axis] ? -1 : at >= box.upper[axis] ? 1 : 0;
  };
  std::int64_t outside = 0;
  for (const Direction d : kDirections) {
    const Box of = ghosts(kBox, d, kDepth);
    for_each_cell(of, [&](auto i, auto j, auto k) {
      EXPECT_EQ((Direction{side(kBox, i, 0), side(kBox, j, 1), side(kBox, k, 2)}), d);
      EXPECT_TRUE(all.contains(i, j, k));
    });
    outside += of.size();
    // A neighbour of the same size, one step on, has its ghost cells where this box's border is.
    Box next = kBox;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t step = d.components()[axis] * kBox.extent(static_cast<int>(axis));
      next.lower[axis] += step;
      next.upper[axis] += step;
    }
    EXPECT_EQ(ghosts(next, -d, kDepth), border(kBox, d, kDepth));
  }
  EXPECT_EQ(outside, all.size() - kBox.size());
}

TEST(Boxes, neighbours_wrap_where_the_space_is_periodic) {
  constexpr Index3 kCounts{4, 3, 2};
  for (std::int64_t number = 0; number < 24; ++number) {
    const Index3 at = index_of(number, kCounts);
    EXPECT_EQ(number_of(at, kCounts), number);
    for (const Direction d : kDirections) {
      const auto there = neighbour(at, d, kCounts);
      ASSERT_TRUE(there);
      EXPECT_EQ(neighbour(*there, -d, kCounts), at);
      const bool ends = (at[0] + d.x) / 4 != 0 || at[0] + d.x < 0;
      EXPECT_EQ(neighbour(at, d, kCounts, {false, true, true}).has_value(), !ends);
    }
  }
}

TEST(Boxes, layouts_list_the_cells_of_a_part_x_fastest) {
  constexpr std::int64_t kCell = 12;
  const CellArray dense = CellArray::of(kBox, kCell);
  CellArray padded = dense;
  padded.stride_y += 20;
  padded.stride_z = 9 * padded.stride_y;
  for (const CellArray& array : {dense, padded}) {
    const Box part = border(kBox, {-1, 0, 1}, 2);
    std::vector<std::int64_t> expected, found;
    for_each_cell(part, [&](auto i, auto j, auto k) {
      for (std::int64_t byte = 0; byte < kCell; ++byte)
        expected.push_back(array.origin + i * kCell + j * array.stride_y + k * array.stride_z +
                           byte);
    });
    layout_of(part, array).for_each_block([&](std::int64_t offset, std::int64_t length) {
      for (std::int64_t byte = 0; byte < length; ++byte) found.push_back(offset + byte);
    });
    EXPECT_EQ(found, expected);
  }
  EXPECT_EQ(layout_of(kBox, dense), Layout::dense(kBox.size() * kCell));
  EXPECT_EQ(layout_of({}, dense), Layout());
}

}  // namespace
}  // namespace strake
