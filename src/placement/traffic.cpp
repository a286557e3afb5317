#include "placement/traffic.hpp"

namespace strake::placement {
void for_each_flow(const Partition& partition, int radius, const std::array<bool, 3>& periodic,
                   const std::function<void(const Flow&)>& visit) {
  const Position& counts = partition.counts();
  for (int part = 0; part < counts[0] * counts[1] * counts[2]; ++part) {
    if (!partition.has_cells(part)) continue;
    const Box box = partition.box_of(part);
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
  for_each_flow(partition, radius, periodic, [&](const Flow& flow) {
    shares.add(flow, node_of[static_cast<std::size_t>(flow.from)] ==
                         node_of[static_cast<std::size_t>(flow.to)]);
  });
  return shares;
}

}  // namespace strake::placement
