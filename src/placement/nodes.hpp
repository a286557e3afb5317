/// \file  Divides a grid among nodes first, and then among the places of each node. Source:
/// dissertation 4.3 (hierarchical bisection).
#pragma once

#include "placement/partition.hpp"

namespace strake::placement {

/// A place of a job: a GPU, or a rank, of a node.
struct NodePlace {
  int node = 0;
  int number = 0;  ///< within the node
  friend constexpr bool operator==(const NodePlace&, const NodePlace&) = default;
};

/// A partition whose parts are blocks of nodes: each node has a box of neighbouring parts.
class NodePartition {
 public:
  /// All at least one. Cost: O(log(nodes * places)).
  NodePartition(const Index3& extent, int nodes, int places_per_node, Ties ties = Ties::Last);

  /// So many nodes, and parts of a node, along each axis.
  NodePartition(const Index3& extent, const Position& nodes, const Position& places)
      : nodes_(extent, nodes), places_(extent, places), parts_(extent, product(nodes, places)) {}

  [[nodiscard]] const Partition& parts() const noexcept { return parts_; }
  /// The nodes along each axis, and the parts of a node.
  [[nodiscard]] const Position& nodes() const noexcept { return nodes_.counts(); }
  [[nodiscard]] const Position& places() const noexcept { return places_.counts(); }
  /// The place of a part; x counts fastest, among nodes as within a node.
  [[nodiscard]] NodePlace place_of(int part) const noexcept;

 private:
  [[nodiscard]] static Position product(const Position& a, const Position& b) noexcept {
    return {a[0] * b[0], a[1] * b[1], a[2] * b[2]};
  }

  Partition nodes_;
  Partition places_;  ///< of the largest node
  Partition parts_;
};

}  // namespace strake::placement
