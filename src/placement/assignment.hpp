/// \file  Which part goes to which place of a node, by the bandwidth between places. Sources:
/// dissertation 4.3 (a quadratic assignment problem); Taillard (1991), "Robust taboo search for the
/// quadratic assignment problem".
#pragma once

#include <cstddef>
#include <vector>

#include "placement/square.hpp"

namespace strake::placement {

/// All assignments of so many places are tried.
inline constexpr int kMostTried = 8;

/// The parts' places, and what that costs: the sum over ordered pairs of parts of what one sends to
/// the other, over the bandwidth between their places.
struct Assignment {
  std::vector<std::size_t> place_of;  ///< by part
  double cost = 0;
};

/// \throws InvalidArgument  matrices of different sizes, or of none; a flow below 0, a bandwidth
/// between two places that is not above 0; the message names the pair and the value
[[nodiscard]] double cost_of(const Square& flows, const Square& bandwidths,
                             const std::vector<std::size_t>& place_of);

/// The cheapest assignment by trying all up to 8 places; a cheap one beyond, by a robust tabu
/// search and descents of bounded length, never dearer than parts in order. Parts stay at the
/// places of their numbers where all cost the same. Cost: 10 ms for 8, about a second from 40
/// places on, four for 1,024. \throws  as cost_of()
[[nodiscard]] Assignment assign(const Square& flows, const Square& bandwidths);

/// As assign(), by the search alone, whatever the size.
[[nodiscard]] Assignment search(const Square& flows, const Square& bandwidths);

/// The mean and the worst cost of all assignments over that of the cheapest, up to 8 places.
struct Spread {
  double mean_over_optimum = 1;
  double worst_over_optimum = 1;
};
/// \throws InvalidArgument  more than 8 places; as cost_of()
[[nodiscard]] Spread spread_of(const Square& flows, const Square& bandwidths);

}  // namespace strake::placement
