/// \file  Faults of a rank's part of an exchange that show without the parts of other ranks.
#pragma once

#include <string>

#include "strake/exchange.hpp"

namespace strake::exchange::planned {

/// A transfer of `part`, for people: "rho, direction +x (tag 3)".
[[nodiscard]] std::string named(const ExchangePart::Transfer& transfer);

/// The first fault of this rank's part; empty if there is none. Cost: O(n log n) of transfers, and
/// of the blocks of those whose bounds meet, if one of them is received.
[[nodiscard]] std::string fault_of(const ExchangePart& part, int rank, int ranks);

}  // namespace strake::exchange::planned
