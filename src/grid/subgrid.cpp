#include "grid/subgrid.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strake::grid {

std::string name_of(Direction d) {
  std::string name;
  const std::array<int, 3> parts = d.components();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (parts[axis] == 0) continue;
    name += parts[axis] < 0 ? '-' : '+';
    name += "xyz"[axis];
  }
  return name;
}

std::string bounds_of(const Box& region) {
  return fmt::format("[{}, {}) x [{}, {}) x [{}, {})", region.lower[0], region.upper[0],
                     region.lower[1], region.upper[1], region.lower[2], region.upper[2]);
}

Depths depths_of(const Radius& radius, int axes) noexcept {
  Depths depths;
  for (const Direction d : kDirections) {
    if (!d.is_within(axes)) continue;
    const std::array<int, 3> parts = d.components();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t depth = radius.at(d) == 0 ? 0 : radius.depths(d)[axis];
      if (parts[axis] < 0) depths.below[axis] = std::max(depths.below[axis], depth);
      if (parts[axis] > 0) depths.above[axis] = std::max(depths.above[axis], depth);
    }
  }
  return depths;
}

std::vector<Box> without(const Box& all, const Box& hole) {
  if (hole.empty()) return all.empty() ? std::vector<Box>{} : std::vector<Box>{all};
  std::vector<Box> boxes;
  Box rest = all;
  for (std::size_t axis = 3; axis-- > 0;) {
    Box below = rest;
    below.upper[axis] = hole.lower[axis];
    Box above = rest;
    above.lower[axis] = hole.upper[axis];
    for (const Box& box : {below, above})
      if (!box.empty()) boxes.push_back(box);
    rest.lower[axis] = hole.lower[axis];
    rest.upper[axis] = hole.upper[axis];
  }
  return boxes;
}

}  // namespace strake::grid
