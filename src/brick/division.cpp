#include "brick/division.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>

#include "placement/partition.hpp"
#include "strake/error.hpp"

namespace strake::brick {
namespace {

std::string by_axis(const Coordinates& numbers, int dims) {
  return fmt::format("{}",
                     fmt::join(std::span(numbers).first(static_cast<std::size_t>(dims)), " x "));
}

/// Throws unless a grid of so many cells along an axis is of whole bricks.
void require_whole(std::size_t axis, std::int64_t cells, std::int64_t side) {
  constexpr std::int64_t kMostBricks = 1 << 30;
  if (side < 1) throw InvalidArgument(fmt::format("a brick of {} cells along axis {}", side, axis));
  if (cells >= 1 && cells % side == 0 && cells / side <= kMostBricks) return;
  const std::int64_t lower = std::clamp(cells / side, std::int64_t{1}, kMostBricks - 1) * side;
  throw InvalidArgument(
      fmt::format("a grid of {} cells along axis {} with bricks of {}: it has to be a multiple of "
                  "the brick, such as {} or {}",
                  cells, axis, side, lower, lower + side));
}

}  // namespace

BricksToDivide bricks_to_divide(std::span<const std::int64_t> extent, std::span<const int> shape,
                                int ghost) {
  if (extent.empty() || extent.size() > static_cast<std::size_t>(kMostDims))
    throw InvalidArgument(
        fmt::format("bricks of {} axes, not of one to {}", extent.size(), kMostDims));
  if (shape.size() != extent.size())
    throw InvalidArgument(
        fmt::format("bricks of {} axes in a grid of {}", shape.size(), extent.size()));
  if (ghost < 0) throw InvalidArgument(fmt::format("bricks with ghosts of {} cells", ghost));
  BricksToDivide made;
  made.dims = static_cast<int>(extent.size());
  for (std::size_t axis = 0; axis < extent.size(); ++axis) {
    const int side = shape[axis];
    require_whole(axis, extent[axis], side);
    made.bricks[axis] = static_cast<int>(extent[axis] / side);
    made.lengths[axis] = side;
    made.ghosts[axis] = ghost / side + (ghost % side > 0 ? 1 : 0);
  }
  return made;
}

Division::Division(const BricksToDivide& grid, int parts) : grid_(grid) {
  require_dims(grid.dims);
  const auto axes = static_cast<std::size_t>(grid.dims);
  if (std::ranges::all_of(grid.counts, [](int count) { return count == 0; })) {
    for (const int factor : placement::prime_factors(parts)) cut(factor, parts);
  } else {
    std::int64_t product = 1;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      if (grid.counts[axis] < 0)
        throw InvalidArgument(
            fmt::format("bricks cut into {} parts along axis {}", grid.counts[axis], axis));
      counts_[axis] = std::max(grid.counts[axis], 1);
      // A product past the ranks is refused below.
      if (product <= parts) product *= counts_[axis];
    }
    if (product != parts)
      throw InvalidArgument(
          fmt::format("bricks cut into {} parts for {} ranks", by_axis(counts_, grid.dims), parts));
  }
  for (std::size_t axis = 0; axis < axes; ++axis)
    if (!fits(axis, counts_[axis]))
      throw InvalidArgument(
          fmt::format("{} bricks cut into {} parts: along axis {} a part has {} bricks, fewer than "
                      "the {} of its "
                      "ghosts on each side",
                      by_axis(grid.bricks, grid.dims), by_axis(counts_, grid.dims), axis,
                      grid.bricks[axis] / counts_[axis], std::max(grid.ghosts[axis], 1)));
}

bool Division::fits(std::size_t axis, int count) const noexcept {
  return grid_.bricks[axis] / count >= std::max(grid_.ghosts[axis], 1);
}

void Division::cut(int factor, int parts) {
  int best = -1;
  double longest = 0;
  for (int axis = 0; axis < grid_.dims; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    const double length = static_cast<double>(grid_.bricks[at]) * grid_.lengths[at] / counts_[at];
    if (length < longest || !fits(at, counts_[at] * factor)) continue;
    longest = length;
    best = axis;
  }
  if (best < 0)
    throw InvalidArgument(fmt::format(
        "{} bricks with {} ghost bricks on each side for {} ranks: no axis can be cut into {} "
        "more: "
        "take smaller bricks or ghosts, or fewer ranks",
        by_axis(grid_.bricks, grid_.dims), by_axis(grid_.ghosts, grid_.dims), parts, factor));
  counts_[static_cast<std::size_t>(best)] *= factor;
}

Coordinates Division::position_of(int part) const noexcept {
  Coordinates position{};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid_.dims); ++axis) {
    position[axis] = part % counts_[axis];
    part /= counts_[axis];
  }
  return position;
}

Coordinates Division::size_of(int part) const noexcept {
  const Coordinates position = position_of(part);
  Coordinates size{1, 1, 1, 1, 1};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid_.dims); ++axis)
    size[axis] = grid_.bricks[axis] / counts_[axis] +
                 (position[axis] < grid_.bricks[axis] % counts_[axis] ? 1 : 0);
  return size;
}

Coordinates Division::lower_of(int part) const noexcept {
  const Coordinates position = position_of(part);
  Coordinates lower{};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid_.dims); ++axis)
    lower[axis] = position[axis] * (grid_.bricks[axis] / counts_[axis]) +
                  std::min(position[axis], grid_.bricks[axis] % counts_[axis]);
  return lower;
}

std::optional<int> Division::neighbour(int part, Region direction) const noexcept {
  const Coordinates position = position_of(part);
  int there = 0;
  for (int axis = grid_.dims - 1; axis >= 0; --axis) {
    const auto at = static_cast<std::size_t>(axis);
    int along = position[at] + sign_of(direction, axis);
    if (along < 0 || along >= counts_[at]) {
      if (!grid_.periodic[at]) return std::nullopt;
      along = (along + counts_[at]) % counts_[at];
    }
    there = there * counts_[at] + along;
  }
  return there;
}

std::vector<Coordinates> Division::neighbour_sizes(int part) const {
  std::vector<Coordinates> sizes;
  const Coordinates own = size_of(part);
  for (Region direction = 0; direction < directions_of(grid_.dims); ++direction) {
    const auto there = neighbour(part, direction);
    sizes.push_back(there ? size_of(*there) : own);
  }
  return sizes;
}

placement::Graph Division::graph() const {
  int parts = 1;
  for (const int count : counts_) parts *= count;
  placement::Graph made{parts, {}};
  for (int part = 0; part < parts; ++part) {
    const Coordinates size = size_of(part);
    for (Region direction = 0; direction < directions_of(grid_.dims); ++direction) {
      const auto there = neighbour(part, direction);
      if (!there || *there == part) continue;
      std::int64_t bricks = 1;
      for (int axis = 0; axis < grid_.dims; ++axis) {
        const auto at = static_cast<std::size_t>(axis);
        bricks *= sign_of(direction, axis) == 0 ? size[at] : grid_.ghosts[at];
      }
      made.edges.push_back({part, *there, bricks});
    }
  }
  return made;
}

}  // namespace strake::brick
