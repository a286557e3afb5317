#include "placement/partition.hpp"

#include <algorithm>
#include <vector>

namespace strake::placement {

std::vector<int> prime_factors(int number) {
  std::vector<int> factors;
  for (int factor = 2; factor <= number / factor; ++factor)
    for (; number % factor == 0; number /= factor) factors.push_back(factor);
  if (number > 1) factors.push_back(number);
  std::ranges::reverse(factors);
  return factors;
}

Partition::Partition(const Index3& extent, int parts, Ties ties) : extent_(extent) {
  for (const int factor : prime_factors(parts)) {
    // Lengths are compared without division: extent a / count a >= extent b / count b.
    std::size_t longest = 0;
    for (std::size_t axis = 1; axis < 3; ++axis) {
      const std::int64_t this_one = extent[axis] * counts_[longest];
      const std::int64_t so_far = extent[longest] * counts_[axis];
      if (this_one > so_far || (this_one == so_far && ties == Ties::Last)) longest = axis;
    }
    counts_[longest] *= factor;
  }
}

Position Partition::position_of(int part) const noexcept {
  return {part % counts_[0], part / counts_[0] % counts_[1], part / counts_[0] / counts_[1]};
}

int Partition::part_at(const Position& position) const noexcept {
  return position[0] + counts_[0] * (position[1] + counts_[1] * position[2]);
}

Partition::Range Partition::range(std::size_t axis, int position) const noexcept {
  const std::int64_t least = extent_[axis] / counts_[axis];
  const std::int64_t longer = extent_[axis] % counts_[axis];
  const std::int64_t begin = position * least + std::min<std::int64_t>(position, longer);
  return {begin, begin + least + (position < longer ? 1 : 0)};
}

Box Partition::box_of(int part) const noexcept {
  const Position at = position_of(part);
  Box made;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Range along = range(axis, at[axis]);
    made.lower[axis] = along.begin;
    made.upper[axis] = along.end;
  }
  return made;
}

int Partition::used(std::size_t axis) const noexcept {
  return static_cast<int>(std::min<std::int64_t>(counts_[axis], extent_[axis]));
}

bool Partition::has_cells(int part) const noexcept {
  const Position position = position_of(part);
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (position[axis] >= used(axis)) return false;
  return true;
}

std::optional<int> Partition::neighbour(int part, Direction d,
                                        const std::array<bool, 3>& periodic) const noexcept {
  const Position at = position_of(part);
  const auto there =
      strake::neighbour({at[0], at[1], at[2]}, d, {used(0), used(1), used(2)}, periodic);
  if (!there) return std::nullopt;
  return part_at({static_cast<int>((*there)[0]), static_cast<int>((*there)[1]),
                  static_cast<int>((*there)[2])});
}

}  // namespace strake::placement
