#include "placement/nodes.hpp"

namespace strake::placement {
namespace {

int number_of(const Position& at, const Position& counts) noexcept {
  return at[0] + counts[0] * (at[1] + counts[1] * at[2]);
}

/// The longest part along each axis.
Index3 longest(const Partition& partition) noexcept {
  Index3 made{};
  for (std::size_t axis = 0; axis < 3; ++axis) made[axis] = partition.range(axis, 0).size();
  return made;
}

}  // namespace

NodePartition::NodePartition(const Index3& extent, int nodes, int places_per_node, Ties ties) {
  const Partition by_node(extent, nodes, ties);
  nodes_ = by_node.counts();
  places_ = Partition(longest(by_node), places_per_node, ties).counts();
  Position counts{};
  for (std::size_t axis = 0; axis < 3; ++axis) counts[axis] = nodes_[axis] * places_[axis];
  parts_ = Partition(extent, counts);
}

NodePlace NodePartition::place_of(int part) const noexcept {
  const Position at = parts_.position_of(part);
  Position node{};
  Position within{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    node[axis] = at[axis] / places_[axis];
    within[axis] = at[axis] % places_[axis];
  }
  return {number_of(node, nodes_), number_of(within, places_)};
}

}  // namespace strake::placement
