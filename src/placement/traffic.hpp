/// \file  Bytes that the parts of a grid exchange, and how far they go. Source: dissertation 4.4.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "placement/partition.hpp"

namespace strake::placement {

/// The ghost cells that a part gets from another one, or from itself across a periodic end.
struct Flow {
  int from = 0;
  int to = 0;
  Direction direction;  ///< in which the receiver sees the sender
  std::int64_t cells = 0;
};

/// Calls `visit` for each flow of an exchange of ghost cells `radius` deep in all 26 directions.
/// Cost: ~26 calls a part.
void for_each_flow(const Partition& partition, int radius, const std::array<bool, 3>& periodic,
                   const std::function<void(const Flow&)>& visit);

/// Cells that stay in a part, that go to another one of its node, and to another node.
struct Shares {
  std::int64_t self = 0;
  std::int64_t node = 0;
  std::int64_t network = 0;
  void add(const Flow& flow, bool in_one_node) noexcept {
    (flow.from == flow.to ? self : in_one_node ? node : network) += flow.cells;
  }
  [[nodiscard]] std::int64_t all() const noexcept { return self + node + network; }
};
/// \param node_of  the node of each part
[[nodiscard]] Shares shares_of(const Partition& partition, int radius,
                               const std::array<bool, 3>& periodic,
                               const std::vector<int>& node_of);

}  // namespace strake::placement
