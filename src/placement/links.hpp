/// \file  The links between the places of a node, some shared by several pairs of places, and the
/// assignment of parts whose slowest link is done soonest. Source: dissertation 4.3 (a shared bus
/// explains what the sum of transfers does not).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "placement/assignment.hpp"

namespace strake::placement {

/// One direction of a link.
struct Link {
  std::string name;
  double gb_per_second = 0;  ///< all transfers that take the link together
  double latency_us = 0;     ///< once for each exchange

  /// The time for that many bytes; no time for none. [us]
  [[nodiscard]] double us_for(double bytes) const noexcept {
    constexpr double kPerUsAtOneGBs = 1e3;
    return bytes > 0 ? bytes / kPerUsAtOneGBs / gb_per_second + latency_us : 0;
  }
};

/// All links of a node, and those that bytes from one place to another take.
class Links {
 public:
  explicit Links(std::size_t places) : places_(places), taken_(places * places) {}

  /// A link of its own for each ordered pair of places. \throws InvalidArgument  a bandwidth
  /// between two places that is not above 0; the message names the pair and the value
  explicit Links(const Square& bandwidths);

  /// Bytes from any place of `from` to any other place of `to` take this link, too.
  /// \throws InvalidArgument  a rate that is not above 0, a latency below 0, a place that there is
  /// not; the message has the link's name and the value
  /// \return  the link's position in all()
  std::size_t add(Link link, std::span<const std::size_t> from, std::span<const std::size_t> to);

  /// Bytes from one place to another take link number `link`, too.
  void take(std::size_t link, std::size_t from, std::size_t to) {
    taken_[from * places_ + to].push_back(link);
  }

  [[nodiscard]] std::size_t places() const noexcept { return places_; }
  [[nodiscard]] const std::vector<Link>& all() const noexcept { return links_; }
  /// Positions in all().
  [[nodiscard]] const std::vector<std::size_t>& taken(std::size_t from, std::size_t to) const {
    return taken_[from * places_ + to];
  }

 private:
  std::size_t places_;
  std::vector<Link> links_;
  std::vector<std::vector<std::size_t>> taken_;  ///< by sender and receiver
};

/// The time of the slowest link, with all that the parts send by it. [us]
/// \param flows  bytes from part to part
/// \throws InvalidArgument  flows of another number of parts than the links have places, or below 0
[[nodiscard]] double slowest_us(const Square& flows, const Links& links,
                                const std::vector<std::size_t>& place_of);

/// The slowest link between each two places [GB/s], for a search by the sum. Pairs that take no
/// link are a thousand times as fast as the fastest link.
[[nodiscard]] Square slowest_rates(const Links& links);

/// The assignment whose slowest link is done soonest; of several, the one whose links take least in
/// all. `cost` is the slowest link's time. [us] All are tried up to 8 places, a search of bounded
/// length is made beyond, whose result is never slower than parts in order. Parts stay at the
/// places of their numbers where all cost the same, and where so many of them exchange that not all
/// swaps of two can be tried (300 places if all do). Cost: 50 ms for 8 places, two to six seconds
/// from 64 to 1,024. \throws  as slowest_us()
[[nodiscard]] Assignment assign_by_bottleneck(const Square& flows, const Links& links);

}  // namespace strake::placement
