#include "placement/flow_peers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "strake/error.hpp"

namespace strake::placement {

void require_flows(const Square& flows) {
  for (std::size_t a = 0; a < flows.size(); ++a)
    for (std::size_t b = 0; b < flows.size(); ++b)
      if (!(flows(a, b) >= 0) || std::isinf(flows(a, b)))
        throw InvalidArgument(fmt::format("a flow of {} from part {} to {}", flows(a, b), a, b));
}

std::vector<std::size_t> places_in_order(std::size_t size) {
  std::vector<std::size_t> at(size);
  std::iota(at.begin(), at.end(), std::size_t{0});
  return at;
}

}  // namespace strake::placement
