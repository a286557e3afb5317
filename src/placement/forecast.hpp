/// \file  The transfers of an exchange of ghost cells, as the model of exchanges takes them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "machine/exchange_model.hpp"
#include "placement/partition.hpp"

namespace strake::placement {

/// A grid's exchange, all fields together.
struct ExchangeShape {
  int radius = 1;
  std::int64_t cell_bytes = 8;  ///< of all fields
  std::array<bool, 3> periodic{};
};

/// A transfer for each flow that has cells, whose rows lie in arrays with ghost cells.
/// \param end_of  by part: where its array is
[[nodiscard]] std::vector<machine::PlannedTransfer> transfers_of(
    const Partition& parts, const ExchangeShape& shape,
    const std::vector<machine::PathEnd>& end_of);

}  // namespace strake::placement
