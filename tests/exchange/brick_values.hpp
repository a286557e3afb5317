/// \file  Grids of bricks whose cells have values that say where they are.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "strake/bricks.hpp"

namespace strake {

inline constexpr std::array<bool, kMostBrickAxes> kPeriodic{true, true, true, true, true};

struct WantedBricks {
  std::vector<std::int64_t> extent;
  std::vector<int> shape;
  BrickOptions options;
};

/// Visits each cell of a box, x fastest.
template <typename Visit>
void for_each_cell(const BrickCellBox& box, int dims, const Visit& visit) {
  BrickNumbers at = box.lower;
  for (;;) {
    visit(at);
    std::size_t axis = 0;
    for (; axis < static_cast<std::size_t>(dims); ++axis) {
      if (++at[axis] < box.upper[axis]) break;
      at[axis] = box.lower[axis];
    }
    if (axis == static_cast<std::size_t>(dims)) return;
  }
}

/// The owned cells, and all ghosts.
inline BrickCellBox stored_cells(const AnyBrickGrid& grid) {
  BrickCellBox box = grid.owned_cells();
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid.dims()); ++axis) {
    box.lower[axis] -= grid.ghost()[axis];
    box.upper[axis] += grid.ghost()[axis];
  }
  return box;
}

/// The value that belongs at a cell of a field; -1: it is beyond an end of the grid.
inline std::int64_t value_at(const WantedBricks& wanted, const BrickNumbers& at, int field,
                             int step) {
  std::int64_t number = 0;
  for (std::size_t axis = wanted.extent.size(); axis-- > 0;) {
    const std::int64_t extent = wanted.extent[axis];
    if (!wanted.options.periodic[axis] && (at[axis] < 0 || at[axis] >= extent)) return -1;
    const std::int64_t inside = at[axis] < 0         ? at[axis] + extent
                                : at[axis] >= extent ? at[axis] - extent
                                                     : at[axis];
    number = number * extent + inside;
  }
  return (number * wanted.options.fields + field) * 2 + step;
}

inline std::vector<std::int64_t> values(const AnyBrickGrid& grid, const WantedBricks& wanted,
                                        const BrickCellBox& box, int field, int step) {
  std::vector<std::int64_t> made;
  for_each_cell(box, grid.dims(),
                [&](const BrickNumbers& at) { made.push_back(value_at(wanted, at, field, step)); });
  return made;
}

/// All neighbours of all owned bricks, as stencils see them.
inline void expect_neighbours(const AnyBrickGrid& grid, const WantedBricks& wanted, int field,
                              int step) {
  int codes = 1;
  for (int axis = 0; axis < grid.dims(); ++axis) codes *= 3;
  for (const std::int32_t brick : grid.owned()) {
    for (int code = 0; code < codes; ++code) {
      BrickCellBox box{grid.corner(brick), {}};
      int rest = code;
      for (std::size_t axis = 0; axis < wanted.extent.size(); ++axis, rest /= 3) {
        box.lower[axis] += (rest % 3 - 1) * grid.shape()[axis];
        box.upper[axis] = box.lower[axis] + grid.shape()[axis];
      }
      if (value_at(wanted, box.lower, field, step) < 0 && code != codes / 2) continue;
      const std::int64_t offset =
          grid.field_offset(field) + grid.adjacency(field)[brick * codes + code];
      const auto* const found = reinterpret_cast<const std::int64_t*>(grid.data() + offset);
      const std::int64_t* next = found;
      std::int64_t wrong = 0;
      for_each_cell(box, grid.dims(), [&](const BrickNumbers& at) {
        wrong += *next++ == value_at(wanted, at, field, step) ? 0 : 1;
      });
      ASSERT_EQ(wrong, 0) << "brick " << brick << ", neighbour " << code << "\n" << grid.plan();
    }
  }
}

}  // namespace strake
