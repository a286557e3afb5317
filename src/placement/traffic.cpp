#include "placement/traffic.hpp"

#include <algorithm>

namespace strake::placement {
namespace {

Box box_of(const Partition& partition, int part) noexcept {
  const Position at = partition.position_of(part);
  Box made;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Partition::Range range = partition.range(axis, at[axis]);
    made.lower[axis] = range.begin;
    made.upper[axis] = range.end;
  }
  return made;
}

}  // namespace

void for_each_flow(const Partition& partition, int radius, const std::array<bool, 3>& periodic,
                   const std::function<void(const Flow&)>& visit) {
  const Position& counts = partition.counts();
  for (int part = 0; part < counts[0] * counts[1] * counts[2]; ++part) {
    if (!partition.has_cells(part)) continue;
    const Box box = box_of(partition, part);
    for (const Direction d : kDirections) {
      const auto from = partition.neighbour(part, d, periodic);
      if (!from) continue;
      visit({*from, part, d, ghosts(box, d, radius).size()});
    }
  }
}

Shares shares_of(const Partition& partition, int radius, const std::array<bool, 3>& periodic,
                 const std::vector<int>& node_of) {
  Shares shares;
  std::vector<int> senders;  // of the part that is looked at
  int receiver = -1;
  for_each_flow(partition, radius, periodic, [&](const Flow& flow) {
    if (flow.to != receiver) senders.clear();
    receiver = flow.to;
    if (flow.from == flow.to) {
      shares.self += flow.cells;
      return;
    }
    if (std::ranges::find(senders, flow.from) == senders.end()) {
      senders.push_back(flow.from);
      ++shares.messages;
    }
    const bool stays =
        node_of[static_cast<std::size_t>(flow.from)] == node_of[static_cast<std::size_t>(flow.to)];
    (stays ? shares.node : shares.network) += flow.cells;
  });
  return shares;
}

}  // namespace strake::placement
