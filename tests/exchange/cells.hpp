/// \file  Fields of a grid whose cells hold what their coordinates say, and checks that their ghost
/// cells do.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "mirror.hpp"
#include "strake/grid.hpp"

namespace strake {

/// The value of a field's cell, by its coordinates within the grid.
inline std::int64_t value_of(const Index3& at, int field, int step) {
  return ((at[2] * 1009 + at[1]) * 1013 + at[0]) * 97 + field * 13 + step;
}

/// The cell that a ghost cell is a copy of: coordinates wrap where the grid is periodic.
inline Index3 wrapped(Index3 at, const Index3& extent, const std::array<bool, 3>& periodic) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (periodic[axis]) at[axis] = (at[axis] % extent[axis] + extent[axis]) % extent[axis];
  return at;
}

struct Vec3 {
  std::int64_t x, y, z;
};
inline void set(std::int64_t& element, std::int64_t value) { element = value; }
inline void set(Vec3& element, std::int64_t value) { element = {value, -value, value ^ 7}; }
inline void set(float& element, std::int64_t value) { element = static_cast<float>(value % 4096); }
inline void set(std::array<char, 3>& element, std::int64_t value) {
  element = {static_cast<char>(value), static_cast<char>(value >> 3), 'x'};
}
template <typename T>
bool holds(const T& element, std::int64_t value) {
  T expected{};
  set(expected, value);
  return std::memcmp(&expected, &element, sizeof(T)) == 0;
}
inline constexpr std::int64_t kPoison = -3;

template <typename T>
void fill(const View<T>& there, int field, int step) {
  Mirror<T> mirror(there);
  const View<T>& view = mirror.view();
  for_each_cell(view.stored(), [&](auto i, auto j, auto k) { set(view(i, j, k), kPoison); });
  for_each_cell(view.owned(), [&](auto i, auto j, auto k) {
    set(view(i, j, k), value_of({i, j, k}, field, step));
  });
  mirror.store();
}

/// The direction of a ghost cell.
inline Direction direction_of(const Box& owned, const Index3& at) {
  const auto side = [&](std::size_t axis) {
    return at[axis] < owned.lower[axis] ? -1 : at[axis] >= owned.upper[axis] ? 1 : 0;
  };
  return {side(0), side(1), side(2)};
}
/// Whether a cell is no further from the owned ones than the radius says, and `most` if that is not
/// -1.
inline bool is_within(const Box& owned, const Index3& at, const Radius& radius, int most) {
  const Direction d = direction_of(owned, at);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t depth =
        std::max({std::int64_t{0}, owned.lower[axis] - at[axis], at[axis] - owned.upper[axis] + 1});
    if (depth > radius.depths(d)[axis] || (most >= 0 && depth > most)) return false;
  }
  return true;
}

struct Expected {
  const Grid& grid;
  std::array<bool, 3> periodic;
  Radius radius;
  GhostOptions options{};
  Index3 extent{};  ///< of the field
  int subgrid = 0;
};

/// Whether every ghost cell holds what it should: its owner's value where it is exchanged.
template <typename T>
void check(const View<T>& there, const Expected& expected, int field, int step,
           std::optional<Direction> only = {}) {
  const Mirror<T> mirror(there);
  const View<T>& view = mirror.view();
  std::int64_t wrong = 0;
  for_each_cell(view.stored(), [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    const Index3 at{i, j, k};
    const Direction d = direction_of(view.owned(), at);
    if (only && !(d == *only)) return;
    std::int64_t value = value_of(at, field, step);
    if (!(d == Direction{})) {
      const bool along = (d.x == 0 || expected.options.axes[0]) &&
                         (d.y == 0 || expected.options.axes[1]) &&
                         (d.z == 0 || expected.options.axes[2]);
      const bool comes = expected.grid.neighbour(d, expected.subgrid).has_value() && along &&
                         is_within(view.owned(), at, expected.radius, expected.options.depth);
      value =
          comes ? value_of(wrapped(at, expected.extent, expected.periodic), field, step) : kPoison;
    }
    if (!holds(view(i, j, k), value) && wrong++ == 0) {
      ADD_FAILURE() << "field " << field << ", step " << step << ": cell " << i << ", " << j << ", "
                    << k << " in direction " << d.x << " " << d.y << " " << d.z;
    }
  });
  EXPECT_EQ(wrong, 0);
}

inline Index3 extent_with(const Grid& grid, const At& at, const std::array<bool, 3>& periodic) {
  Index3 extent = grid.extent();
  const std::array<bool, 3> faces = at.on_faces();
  for (std::size_t axis = 0; axis < 3; ++axis)
    extent[axis] += faces[axis] && !periodic[axis] ? 1 : 0;
  return extent;
}

}  // namespace strake
