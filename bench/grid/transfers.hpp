/// \file  Boxes of cells that a rank sends and receives in a ghost exchange with 26 neighbours.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/halo.hpp"

namespace bench {

/// A transfer that every rank makes in one direction. The parts are those of each array.
struct Transfer {
  int to;
  int from;  ///< the neighbour on the other side
  Halo::Part sent;
  Halo::Part ghosts;  ///< what comes from there
};

/// All 26, in an order that is the same on all ranks.
[[nodiscard]] std::vector<Transfer> transfers_of(const RankBox& box, const HaloShape& shape);

[[nodiscard]] inline std::int64_t cells_of(const Halo::Part& part) {
  return std::int64_t{part.sizes[0]} * part.sizes[1] * part.sizes[2];
}

/// Volume of the messages that a rank sends in one exchange of all fields. [bytes]
struct HaloBytes {
  std::int64_t within = 0;  ///< to itself
  std::int64_t to_others = 0;
  [[nodiscard]] std::int64_t all() const { return within + to_others; }
};
[[nodiscard]] HaloBytes halo_bytes(const RankBox& box, const HaloShape& shape);

}  // namespace bench
