/// \file  The index space of grids: boxes of cells, the 26 directions, and what lies on which side
/// of a box. Local; every function costs some ns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "strake/api.hpp"

#if defined(__CUDACC__)
#define STRAKE_BOX_FN __host__ __device__ constexpr
#else
#define STRAKE_BOX_FN constexpr
#endif

namespace strake {

class Layout;

/// Coordinates of a cell, or cells along each axis: x, y, z.
using Index3 = std::array<std::int64_t, 3>;

/// Cells with lower[a] <= coordinate a < upper[a].
struct Box {
  Index3 lower{};
  Index3 upper{};
  [[nodiscard]] STRAKE_BOX_FN std::int64_t extent(int axis) const noexcept {
    return upper[static_cast<std::size_t>(axis)] > lower[static_cast<std::size_t>(axis)]
               ? upper[static_cast<std::size_t>(axis)] - lower[static_cast<std::size_t>(axis)]
               : 0;
  }
  [[nodiscard]] STRAKE_BOX_FN std::int64_t size() const noexcept {
    return extent(0) * extent(1) * extent(2);
  }
  [[nodiscard]] STRAKE_BOX_FN bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] STRAKE_BOX_FN bool contains(std::int64_t i, std::int64_t j = 0,
                                            std::int64_t k = 0) const noexcept {
    return lower[0] <= i && i < upper[0] && lower[1] <= j && j < upper[1] && lower[2] <= k &&
           k < upper[2];
  }
  friend bool operator==(const Box&, const Box&) = default;
};

/// Calls `visit(i, j, k)` for each cell, x fastest.
template <typename Visit>
STRAKE_BOX_FN void for_each_cell(const Box& box, Visit&& visit) {
  for (std::int64_t k = box.lower[2]; k < box.upper[2]; ++k)
    for (std::int64_t j = box.lower[1]; j < box.upper[1]; ++j)
      for (std::int64_t i = box.lower[0]; i < box.upper[0]; ++i) visit(i, j, k);
}

/// A side of a box, one of its edges, or one of its corners: each component -1, 0 or 1, not all of
/// them 0.
struct Direction {
  int x = 0;
  int y = 0;
  int z = 0;
  [[nodiscard]] constexpr std::array<int, 3> components() const noexcept { return {x, y, z}; }
  [[nodiscard]] constexpr Direction operator-() const noexcept { return {-x, -y, -z}; }
  /// How many components are not 0: 1 for a face, 2 for an edge, 3 for a corner.
  [[nodiscard]] constexpr int order() const noexcept {
    return (x != 0 ? 1 : 0) + (y != 0 ? 1 : 0) + (z != 0 ? 1 : 0);
  }
  /// Whether the direction lies in a space of `axes` axes.
  [[nodiscard]] constexpr bool is_within(int axes) const noexcept {
    return (axes > 1 || y == 0) && (axes > 2 || z == 0);
  }
  /// 0 to 26, x fastest; 13 is no direction. That of the opposite one is 26 less this.
  [[nodiscard]] constexpr int number() const noexcept {
    return (x + 1) + 3 * (y + 1) + 9 * (z + 1);
  }
  [[nodiscard]] static constexpr Direction of_number(int number) noexcept {
    return {number % 3 - 1, number / 3 % 3 - 1, number / 9 % 3 - 1};
  }
  friend constexpr bool operator==(const Direction&, const Direction&) = default;
};
inline constexpr int kDirectionNumbers = 27;

/// All directions, in the order of their numbers.
[[nodiscard]] constexpr std::array<Direction, kDirectionNumbers - 1> all_directions() noexcept {
  std::array<Direction, kDirectionNumbers - 1> all{};
  std::size_t count = 0;
  for (int number = 0; number < kDirectionNumbers; ++number)
    if (Direction::of_number(number).order() > 0) all[count++] = Direction::of_number(number);
  return all;
}
inline constexpr auto kDirections = all_directions();

/// \{ The cells of `box` within `depth` of its side, edge or corner in a direction, a depth for
/// each axis or one for all: what a neighbour there needs of this box.
[[nodiscard]] constexpr Box border(const Box& box, Direction d, const Index3& depths) noexcept {
  Box made = box;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int step = d.components()[axis];
    if (step < 0) made.upper[axis] = box.lower[axis] + depths[axis];
    if (step > 0) made.lower[axis] = box.upper[axis] - depths[axis];
  }
  return made;
}
[[nodiscard]] constexpr Box border(const Box& box, Direction d, std::int64_t depth) noexcept {
  return border(box, d, Index3{depth, depth, depth});
}
/// \}

/// \{ The cells outside of `box` within `depth` of it in a direction: its ghost cells there.
[[nodiscard]] constexpr Box ghosts(const Box& box, Direction d, const Index3& depths) noexcept {
  Box made = box;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int step = d.components()[axis];
    if (step < 0) {
      made.upper[axis] = box.lower[axis];
      made.lower[axis] = box.lower[axis] - depths[axis];
    } else if (step > 0) {
      made.lower[axis] = box.upper[axis];
      made.upper[axis] = box.upper[axis] + depths[axis];
    }
  }
  return made;
}
[[nodiscard]] constexpr Box ghosts(const Box& box, Direction d, std::int64_t depth) noexcept {
  return ghosts(box, d, Index3{depth, depth, depth});
}
/// \}

/// `box` with so many cells more on each side of each axis.
[[nodiscard]] constexpr Box grown(const Box& box, const Index3& below,
                                  const Index3& above) noexcept {
  Box made = box;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    made.lower[axis] -= below[axis];
    made.upper[axis] += above[axis];
  }
  return made;
}
[[nodiscard]] constexpr Box grown(const Box& box, std::int64_t cells) noexcept {
  return grown(box, {cells, cells, cells}, {cells, cells, cells});
}

/// The neighbour of `at` in a direction, among `counts` along each axis. Nothing: the space ends
/// there, and is not periodic along that axis.
[[nodiscard]] constexpr std::optional<Index3> neighbour(const Index3& at, Direction d,
                                                        const Index3& counts,
                                                        const std::array<bool, 3>& periodic = {
                                                            true, true, true}) noexcept {
  Index3 there = at;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    there[axis] += d.components()[axis];
    if (there[axis] >= 0 && there[axis] < counts[axis]) continue;
    if (!periodic[axis]) return std::nullopt;
    there[axis] = (there[axis] + counts[axis]) % counts[axis];
  }
  return there;
}

/// \{ A number for each of `counts` along each axis, x fastest.
[[nodiscard]] constexpr std::int64_t number_of(const Index3& at, const Index3& counts) noexcept {
  return at[0] + counts[0] * (at[1] + counts[1] * at[2]);
}
[[nodiscard]] constexpr Index3 index_of(std::int64_t number, const Index3& counts) noexcept {
  return {number % counts[0], number / counts[0] % counts[1], number / counts[0] / counts[1]};
}
/// \}

/// An array of cells, x fastest. [bytes]
struct CellArray {
  std::int64_t cell = 0;      ///< of one cell
  std::int64_t stride_y = 0;  ///< between cells that are neighbours along y
  std::int64_t stride_z = 0;  ///< the same along z
  std::int64_t origin = 0;    ///< where cell (0, 0, 0) is, or would be
  /// One that holds the cells of `stored`, and nothing between them, from byte 0 on.
  [[nodiscard]] static constexpr CellArray of(const Box& stored, std::int64_t cell) noexcept {
    const std::int64_t row = stored.extent(0) * cell;
    const std::int64_t plane = stored.extent(1) * row;
    return {cell, row, plane,
            -(stored.lower[0] * cell + stored.lower[1] * row + stored.lower[2] * plane)};
  }
};
/// The bytes of the cells of `part`. \throws InvalidArgument  fewer than no bytes, or a size past
/// 2^63
[[nodiscard]] STRAKE_API Layout layout_of(const Box& part, const CellArray& array);

}  // namespace strake
