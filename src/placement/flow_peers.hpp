/// \file  The flows of each part without those that are 0: grids have few others, so a swap of two
/// parts costs little. Internal to the searches.
#pragma once

#include <cstddef>
#include <vector>

#include "placement/square.hpp"

namespace strake::placement {

/// \throws InvalidArgument  a flow below 0, or none that is a number; the message names the pair
void require_flows(const Square& flows);
/// Each part is at the place of its number.
[[nodiscard]] std::vector<std::size_t> places_in_order(std::size_t size);

/// A part that another one sends to, or gets from.
struct FlowPeer {
  std::size_t part = 0;
  double sent = 0;  ///< to the peer
  double got = 0;   ///< from the peer
};

/// The peers of each part, in the order of their numbers. No part is its own.
class FlowPeers {
 public:
  explicit FlowPeers(const Square& flows) : of_(flows.size()) {
    for (std::size_t a = 0; a < flows.size(); ++a) {
      for (std::size_t b = 0; b < flows.size(); ++b)
        if (a != b && (flows(a, b) > 0 || flows(b, a) > 0))
          of_[a].push_back({b, flows(a, b), flows(b, a)});
      all_ += of_[a].size();
    }
  }
  [[nodiscard]] const std::vector<FlowPeer>& of(std::size_t part) const noexcept {
    return of_[part];
  }
  /// Peers that are looked at if each part is swapped with each other one, once.
  [[nodiscard]] double for_all_swaps() const noexcept {
    return static_cast<double>(all_) * static_cast<double>(of_.size());
  }

 private:
  std::vector<std::vector<FlowPeer>> of_;
  std::size_t all_ = 0;
};

}  // namespace strake::placement
