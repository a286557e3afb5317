#include "brick/decomposition.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "strake/error.hpp"

namespace strake::brick {
namespace {

/// Bricks of a subdomain along one axis that go to the same sides.
struct Stretch {
  int lower = 0;
  int upper = 0;
  int side = 0;  ///< -1, 0, 1; kBothSides: ghosts of either side
};
constexpr int kBothSides = 2;

std::vector<Stretch> stretches_of(int count, int ghosts) {
  std::vector<Stretch> made;
  const auto add = [&](int lower, int upper, int side) {
    if (lower < upper) made.push_back({lower, upper, side});
  };
  if (ghosts == 0) {
    add(0, count, 0);
    return made;
  }
  const int low = std::min(ghosts, count - ghosts);  // where bricks go to the low side alone
  const int high = std::max(ghosts, count - ghosts);
  add(0, low, -1);
  add(low, high, count < 2 * ghosts ? kBothSides : 0);
  add(high, count, 1);
  return made;
}

/// Owned bricks that go to the same neighbours.
struct OwnedBox {
  BrickBox box;
  Coordinates sides{};
  [[nodiscard]] bool goes_towards(Region to, int dims) const noexcept {
    for (int axis = 0; axis < dims; ++axis) {
      const int side = sides[static_cast<std::size_t>(axis)];
      const int wanted = sign_of(to, axis);
      if (wanted != 0 && side != wanted && side != kBothSides) return false;
    }
    return true;
  }
};

/// The bricks of a layer along the first two axes that are computed before those of the next layer.
/// A stencil finds the layer before still in a cache: 128 bricks of 8^3 doubles, read and written,
/// are 1 MiB.
constexpr int kTile = 128;

/// Cuts a box along its second axis into tiles.
std::vector<OwnedBox> tiles_of(const OwnedBox& box, int dims) {
  if (dims < 3) return {box};
  std::vector<OwnedBox> made;
  const int rows = std::max(1, kTile / (box.box.upper[0] - box.box.lower[0]));
  for (int lower = box.box.lower[1]; lower < box.box.upper[1]; lower += rows) {
    made.push_back(box);
    made.back().box.lower[1] = lower;
    made.back().box.upper[1] = std::min(lower + rows, box.box.upper[1]);
  }
  return made;
}

/// The boxes of a subdomain in the order of memory.
std::vector<OwnedBox> owned_boxes(int dims, const Coordinates& counts, const Coordinates& ghosts) {
  std::vector<OwnedBox> all = {{{}, {}}};
  std::vector<int> axes;  // along which there are ghosts
  for (int axis = 0; axis < dims; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    if (ghosts[at] > 0) axes.push_back(axis);
    std::vector<OwnedBox> longer;
    for (const Stretch& stretch : stretches_of(counts[at], ghosts[at])) {
      for (OwnedBox box : all) {
        box.box.lower[at] = stretch.lower;
        box.box.upper[at] = stretch.upper;
        box.sides[at] = stretch.side;
        longer.push_back(box);
      }
    }
    all = std::move(longer);
  }
  std::vector<Coordinates> order(1);  // the interior
  if (!axes.empty()) {
    for (const Region region : best_order(static_cast<int>(axes.size()))) {
      Coordinates sides{};
      for (std::size_t i = 0; i < axes.size(); ++i)
        sides[static_cast<std::size_t>(axes[i])] = sign_of(region, static_cast<int>(i));
      order.push_back(sides);
    }
  }
  // Boxes that go to both sides of an axis are in no order, and come last.
  std::ranges::stable_sort(all, {}, [&](const OwnedBox& box) {
    return std::ranges::find(order, box.sides) - order.begin();
  });
  if (all.front().sides != Coordinates{}) return all;
  std::vector<OwnedBox> tiled = tiles_of(all.front(), dims);
  tiled.insert(tiled.end(), all.begin() + 1, all.end());
  return tiled;
}

Region opposite(Region direction, int dims) noexcept { return directions_of(dims) - 1 - direction; }

bool is_middle(Region direction, int dims) noexcept {
  return direction == opposite(direction, dims);
}

/// Ranges of `lengths` from `first` on.
std::vector<BrickRange> following(const std::vector<BrickRange>& lengths, std::int32_t first) {
  std::vector<BrickRange> made;
  for (const BrickRange& one : lengths) {
    made.push_back({first, one.count});
    first += one.count;
  }
  return made;
}

std::vector<BrickRange> joined(const std::vector<BrickRange>& ranges) {
  std::vector<BrickRange> made;
  for (const BrickRange& range : ranges) {
    if (!made.empty() && made.back().first + made.back().count == range.first)
      made.back().count += range.count;
    else
      made.push_back(range);
  }
  return made;
}

std::string text_of(int dims, const Coordinates& numbers) {
  return fmt::format("{}", fmt::join(numbers.begin(), numbers.begin() + dims, " x "));
}

}  // namespace

std::int64_t BrickBox::size(int dims) const noexcept {
  std::int64_t bricks = 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims); ++axis)
    bricks *= upper[axis] - lower[axis];
  return bricks;
}

void Decomposition::require_counts(const std::vector<Coordinates>& neighbour_counts) const {
  const auto fits = [&](const Coordinates& counts) {
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims_); ++axis)
      if (counts[axis] < std::max(ghosts_[axis], 1) || ghosts_[axis] < 0) return false;
    return true;
  };
  const auto require = [&](bool good, const Coordinates& counts, const char* whose) {
    if (!good)
      throw InvalidArgument(fmt::format("{} of {} bricks, with {} ghost bricks on each side", whose,
                                        text_of(dims_, counts), text_of(dims_, ghosts_)));
  };
  require(fits(counts_), counts_, "a subdomain");
  double all = 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims_); ++axis)
    all *= counts_[axis] + 2.0 * ghosts_[axis];
  require(all < std::numeric_limits<std::int32_t>::max(), counts_, "too large a subdomain,");
  for (Region d = 0; d < static_cast<int>(neighbour_counts.size()); ++d) {
    const Coordinates& counts = neighbour_counts[static_cast<std::size_t>(d)];
    bool good = fits(counts);
    for (int axis = 0; axis < dims_; ++axis) {
      const auto at = static_cast<std::size_t>(axis);
      good = good && (sign_of(d, axis) != 0 || counts[at] == counts_[at]);
    }
    require(good || is_middle(d, dims_), counts, "a neighbour");
  }
}

Decomposition::Decomposition(int dims, const Coordinates& counts, const Coordinates& ghosts,
                             const std::vector<Coordinates>& neighbour_counts)
    : dims_(dims), counts_(counts), ghosts_(ghosts) {
  require_dims(dims);
  const int directions = directions_of(dims);
  if (static_cast<int>(neighbour_counts.size()) != directions)
    throw InvalidArgument(
        fmt::format("counts of {} neighbours in {} dimensions", neighbour_counts.size(), dims));
  require_counts(neighbour_counts);
  std::size_t positions = 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims); ++axis)
    positions *= static_cast<std::size_t>(counts[axis] + 2 * ghosts[axis]);
  numbers_.resize(positions);
  for (auto* const lists : {&sends_, &receives_})
    for (auto& list : *lists) list.resize(static_cast<std::size_t>(directions));

  const std::vector<OwnedBox> owned = owned_boxes(dims, counts, ghosts);
  std::vector<BrickRange> ranges;
  for (const OwnedBox& box : owned) {
    const std::int32_t first = add(box.box);
    ranges.push_back({first, stored_ - first});
    if (box.sides == Coordinates{}) interior_ = stored_;
  }
  owned_ = stored_;
  for (Region d = 0; d < directions; ++d) {
    if (is_middle(d, dims)) continue;
    bool has_ghosts = true;
    for (int axis = 0; axis < dims; ++axis)
      has_ghosts =
          has_ghosts && (sign_of(d, axis) == 0 || ghosts[static_cast<std::size_t>(axis)] > 0);
    if (!has_ghosts) continue;
    const auto at = static_cast<std::size_t>(d);
    for (std::size_t i = 0; i < owned.size(); ++i)
      if (owned[i].goes_towards(d, dims)) sends_[0][at].push_back(ranges[i]);
    sends_[1][at] = joined(sends_[0][at]);
    add_ghosts(d, neighbour_counts[at]);
  }
}

/// In the order, and with the numbers, of the neighbour's own bricks.
void Decomposition::add_ghosts(Region from, const Coordinates& neighbour) {
  const Region back = opposite(from, dims_);
  std::vector<BrickRange> theirs;
  std::int32_t their_first = 0;
  const std::int32_t first = stored_;
  for (OwnedBox box : owned_boxes(dims_, neighbour, ghosts_)) {
    const auto count = static_cast<std::int32_t>(box.box.size(dims_));
    if (box.goes_towards(back, dims_)) {
      theirs.push_back({their_first, count});
      for (int axis = 0; axis < dims_; ++axis) {
        const auto at = static_cast<std::size_t>(axis);
        const int sign = sign_of(from, axis);
        const int shift = sign > 0 ? counts_[at] : sign < 0 ? -neighbour[at] : 0;
        box.box.lower[at] += shift;
        box.box.upper[at] += shift;
      }
      add(box.box);
      for (std::int32_t i = 0; i < count; ++i) ghost_bricks_.push_back({from, their_first + i});
    }
    their_first += count;
  }
  const auto at = static_cast<std::size_t>(from);
  receives_[0][at] = following(theirs, first);
  receives_[1][at] = following(joined(theirs), first);
}

std::int32_t Decomposition::add(const BrickBox& box) {
  const std::int32_t first = stored_;
  boxes_.push_back({box, first});
  for_each_position(box, dims_,
                    [&](const Coordinates& position) { numbers_[index_of(position)] = stored_++; });
  return first;
}

std::size_t Decomposition::index_of(const Coordinates& position) const noexcept {
  std::size_t index = 0;
  for (auto axis = static_cast<std::size_t>(dims_); axis-- > 0;)
    index = index * static_cast<std::size_t>(counts_[axis] + 2 * ghosts_[axis]) +
            static_cast<std::size_t>(position[axis] + ghosts_[axis]);
  return index;
}

bool Decomposition::is_stored(const Coordinates& position) const noexcept {
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims_); ++axis)
    if (position[axis] < -ghosts_[axis] || position[axis] >= counts_[axis] + ghosts_[axis])
      return false;
  return true;
}

std::vector<Coordinates> Decomposition::positions() const {
  std::vector<Coordinates> made(static_cast<std::size_t>(stored_));
  for (const StoredBox& stored : boxes_) {
    auto number = static_cast<std::size_t>(stored.first);
    for_each_position(stored.box, dims_,
                      [&](const Coordinates& position) { made[number++] = position; });
  }
  return made;
}

std::vector<BrickRange> Decomposition::sends(Region to, bool by_region) const {
  return sends_[by_region ? 0 : 1][static_cast<std::size_t>(to)];
}

std::vector<BrickRange> Decomposition::receives(Region from, bool by_region) const {
  return receives_[by_region ? 0 : 1][static_cast<std::size_t>(from)];
}

}  // namespace strake::brick
