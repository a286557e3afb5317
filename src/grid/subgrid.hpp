/// \file  The regions of a rank's part of a grid: what it owns of a quantity, what is around that,
/// and what of either is exchanged.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "strake/grid.hpp"

namespace strake::grid {

/// How many ghost cells are on either side of each axis.
struct Depths {
  std::array<int, 3> below{};
  std::array<int, 3> above{};
};

/// All 26, those along the first `axes` axes only, x fastest.
[[nodiscard]] std::vector<Direction> directions(int axes);
[[nodiscard]] constexpr Direction opposite(Direction d) noexcept { return {-d.x, -d.y, -d.z}; }
[[nodiscard]] constexpr std::array<int, 3> components(Direction d) noexcept {
  return {d.x, d.y, d.z};
}
/// \{ 0 to 26, as tags of transfers have it: they are 27 array + number.
[[nodiscard]] constexpr int number_of(Direction d) noexcept {
  return (d.x + 1) + 3 * (d.y + 1) + 9 * (d.z + 1);
}
[[nodiscard]] constexpr Direction direction_of(int tag) noexcept {
  return {tag % 3 - 1, tag / 3 % 3 - 1, tag / 9 % 3 - 1};
}
/// \}
/// "+x", "-x+y".
[[nodiscard]] std::string name_of(Direction d);
/// "[0, 8) x [0, 8) x [4, 8)".
[[nodiscard]] std::string bounds_of(const Region& region);

/// As deep as the deepest direction needs.
[[nodiscard]] Depths depths_of(const Radius& radius, int axes) noexcept;
/// With that many ghost cells around it.
[[nodiscard]] Region grown(const Region& owned, const Depths& depths) noexcept;
/// The ghost cells in a direction, `depth` cells deep.
[[nodiscard]] Region ghosts(const Region& owned, Direction d, int depth) noexcept;
/// The owned cells on that side.
[[nodiscard]] Region edge(const Region& owned, Direction d, int depth) noexcept;
/// What is left of `all` without `hole`, which is inside: up to six boxes with nothing in common.
[[nodiscard]] std::vector<Region> without(const Region& all, const Region& hole);

}  // namespace strake::grid
