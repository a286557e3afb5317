#include "placement/nodes.hpp"

namespace strake::placement {
namespace {

/// The longest part along each axis.
Index3 longest(const Partition& partition) noexcept {
  Index3 made{};
  for (std::size_t axis = 0; axis < 3; ++axis) made[axis] = partition.range(axis, 0).size();
  return made;
}

}  // namespace

NodePartition::NodePartition(const Index3& extent, int nodes, int places_per_node, Ties ties)
    : nodes_(extent, nodes, ties),
      places_(longest(nodes_), places_per_node, ties),
      parts_(extent, product(nodes_.counts(), places_.counts())) {}

NodePlace NodePartition::place_of(int part) const noexcept {
  const Position at = parts_.position_of(part);
  Position node{};
  Position within{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    node[axis] = at[axis] / places_.counts()[axis];
    within[axis] = at[axis] % places_.counts()[axis];
  }
  return {nodes_.part_at(node), places_.part_at(within)};
}

}  // namespace strake::placement
