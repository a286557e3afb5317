#include "grid/subgrid.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strake::grid {

std::vector<Direction> directions(int axes) {
  std::vector<Direction> all;
  const int y_end = axes > 1 ? 1 : 0;
  const int z_end = axes > 2 ? 1 : 0;
  for (int z = -z_end; z <= z_end; ++z)
    for (int y = -y_end; y <= y_end; ++y)
      for (int x = -1; x <= 1; ++x)
        if (x != 0 || y != 0 || z != 0) all.push_back({x, y, z});
  return all;
}

std::string name_of(Direction d) {
  std::string name;
  const std::array<int, 3> parts = components(d);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (parts[axis] == 0) continue;
    name += parts[axis] < 0 ? '-' : '+';
    name += "xyz"[axis];
  }
  return name;
}

std::string bounds_of(const Region& region) {
  return fmt::format("[{}, {}) x [{}, {}) x [{}, {})", region.lower[0], region.upper[0],
                     region.lower[1], region.upper[1], region.lower[2], region.upper[2]);
}

Depths depths_of(const Radius& radius, int axes) noexcept {
  Depths depths;
  for (const Direction d : directions(axes)) {
    const std::array<int, 3> parts = components(d);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (parts[axis] < 0) depths.below[axis] = std::max(depths.below[axis], radius.at(d));
      if (parts[axis] > 0) depths.above[axis] = std::max(depths.above[axis], radius.at(d));
    }
  }
  return depths;
}

Region grown(const Region& owned, const Depths& depths) noexcept {
  Region all = owned;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    all.lower[axis] -= depths.below[axis];
    all.upper[axis] += depths.above[axis];
  }
  return all;
}

Region ghosts(const Region& owned, Direction d, int depth) noexcept {
  Region made = owned;
  const std::array<int, 3> parts = components(d);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (parts[axis] < 0) {
      made.upper[axis] = owned.lower[axis];
      made.lower[axis] = owned.lower[axis] - depth;
    } else if (parts[axis] > 0) {
      made.lower[axis] = owned.upper[axis];
      made.upper[axis] = owned.upper[axis] + depth;
    }
  }
  return made;
}

Region edge(const Region& owned, Direction d, int depth) noexcept {
  Region made = owned;
  const std::array<int, 3> parts = components(d);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (parts[axis] < 0) made.upper[axis] = owned.lower[axis] + depth;
    if (parts[axis] > 0) made.lower[axis] = owned.upper[axis] - depth;
  }
  return made;
}

std::vector<Region> without(const Region& all, const Region& hole) {
  if (hole.empty()) return all.empty() ? std::vector<Region>{} : std::vector<Region>{all};
  std::vector<Region> boxes;
  Region rest = all;
  for (std::size_t axis = 3; axis-- > 0;) {
    Region below = rest;
    below.upper[axis] = hole.lower[axis];
    Region above = rest;
    above.lower[axis] = hole.upper[axis];
    for (const Region& box : {below, above})
      if (!box.empty()) boxes.push_back(box);
    rest.lower[axis] = hole.lower[axis];
    rest.upper[axis] = hole.upper[axis];
  }
  return boxes;
}

}  // namespace strake::grid
