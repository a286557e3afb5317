#include "placement/forecast.hpp"

#include "placement/traffic.hpp"

namespace strake::placement {

std::vector<machine::PlannedTransfer> transfers_of(const Partition& parts,
                                                   const ExchangeShape& shape,
                                                   const std::vector<machine::PathEnd>& end_of) {
  std::vector<machine::PlannedTransfer> made;
  for_each_flow(parts, shape.radius, shape.periodic, [&](const Flow& flow) {
    if (flow.cells == 0) return;
    const std::int64_t row = parts.range(0, parts.position_of(flow.to)[0]).size();
    const std::int64_t cells = flow.direction.x != 0 ? shape.radius : row;
    made.push_back(
        {{end_of[static_cast<std::size_t>(flow.from)], end_of[static_cast<std::size_t>(flow.to)]},
         {flow.cells * shape.cell_bytes, cells * shape.cell_bytes,
          (row + 2 * shape.radius) * shape.cell_bytes}});
  });
  return made;
}

}  // namespace strake::placement
