#include "grid/transfers.hpp"

namespace bench {

std::vector<Transfer> transfers_of(const RankBox& box, const HaloShape& shape) {
  std::vector<Transfer> all;
  for (const strake::Direction d : strake::kDirections) {
    const Triple direction{d.z, d.y, d.x};
    all.push_back({box.neighbour(direction, 1), box.neighbour(direction, -1),
                   Halo::part(shape, direction, false),
                   Halo::part(shape, {-d.z, -d.y, -d.x}, true)});
  }
  return all;
}

HaloBytes halo_bytes(const RankBox& box, const HaloShape& shape) {
  const int self = box.neighbour({0, 0, 0}, 1);
  HaloBytes bytes;
  for (const Transfer& transfer : transfers_of(box, shape)) {
    const std::int64_t sent =
        cells_of(transfer.sent) * std::int64_t{sizeof(double)} * shape.quantities;
    (transfer.to == self ? bytes.within : bytes.to_others) += sent;
  }
  return bytes;
}

}  // namespace bench
