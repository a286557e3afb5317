#include "placement/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "strake/error.hpp"

namespace strake::placement {
namespace {

using PlaceOf = std::vector<std::size_t>;

void require_flows(const Square& flows, const Links& links) {
  if (flows.size() == 0 || flows.size() != links.places())
    throw InvalidArgument(
        fmt::format("flows of {} parts and links of {} places", flows.size(), links.places()));
  for (std::size_t a = 0; a < flows.size(); ++a)
    for (std::size_t b = 0; b < flows.size(); ++b)
      if (!(flows(a, b) >= 0) || std::isinf(flows(a, b)))
        throw InvalidArgument(fmt::format("a flow of {} from part {} to {}", flows(a, b), a, b));
}

/// The slowest link first, then the sum of all links. [us]
struct LinkTimes {
  double slowest = 0;
  double sum = 0;
  [[nodiscard]] bool is_less(const LinkTimes& other) const noexcept {
    constexpr double kEqual = 1e-12;
    if (std::abs(slowest - other.slowest) > kEqual * other.slowest) return slowest < other.slowest;
    return sum < other.sum * (1 - kEqual);
  }
};

/// The bytes on each link under an assignment, kept while parts change places.
class LinkLoads {
 public:
  LinkLoads(const Square& flows, const Links& links)
      : flows_(flows), links_(links), bytes_(links.all().size()) {}

  void load(const PlaceOf& at) {
    std::ranges::fill(bytes_, 0.0);
    for (std::size_t a = 0; a < at.size(); ++a)
      for (std::size_t b = 0; b < at.size(); ++b)
        if (a != b) put(at[a], at[b], flows_(a, b));
  }
  /// Exchanges the places of two parts, and moves their bytes from link to link.
  void swap(PlaceOf& at, std::size_t r, std::size_t s) {
    put_both(at, r, s, -1);
    std::swap(at[r], at[s]);
    put_both(at, r, s, 1);
  }
  [[nodiscard]] LinkTimes times() const {
    LinkTimes made;
    for (std::size_t link = 0; link < bytes_.size(); ++link) {
      // Bytes that were added and taken away leave a rest of rounding.
      const double us = links_.all()[link].us_for(bytes_[link] < kRest ? 0 : bytes_[link]);
      made.slowest = std::max(made.slowest, us);
      made.sum += us;
    }
    return made;
  }

 private:
  static constexpr double kRest = 1e-3;  // bytes

  void put(std::size_t from, std::size_t to, double bytes) {
    for (const std::size_t link : links_.taken(from, to)) bytes_[link] += bytes;
  }
  void put_both(const PlaceOf& at, std::size_t r, std::size_t s, double sign) {
    for (std::size_t k = 0; k < at.size(); ++k) {
      if (k != r) {
        put(at[r], at[k], sign * flows_(r, k));
        put(at[k], at[r], sign * flows_(k, r));
      }
      if (k != s && k != r) {
        put(at[s], at[k], sign * flows_(s, k));
        put(at[k], at[s], sign * flows_(k, s));
      }
    }
  }

  const Square& flows_;
  const Links& links_;
  std::vector<double> bytes_;  ///< by link
};

PlaceOf places_in_order(std::size_t size) {
  PlaceOf at(size);
  std::iota(at.begin(), at.end(), std::size_t{0});
  return at;
}

Assignment try_all_places(const Square& flows, const Links& links) {
  LinkLoads loads(flows, links);
  PlaceOf at = places_in_order(flows.size());
  PlaceOf best_at = at;
  loads.load(at);
  LinkTimes best = loads.times();
  while (std::ranges::next_permutation(at).found) {
    loads.load(at);
    const LinkTimes found = loads.times();
    if (!found.is_less(best)) continue;
    best = found;
    best_at = at;
  }
  return {best_at, best.slowest};
}

/// Exchanges two parts as long as that helps, from several starts.
class SwapSearch {
 public:
  SwapSearch(const Square& flows, const Links& links)
      : loads_(flows, links), at_(places_in_order(flows.size())) {}

  Assignment run(const PlaceOf& guess) {
    PlaceOf best_at = at_;
    LinkTimes best = descended();
    best_at = at_;
    at_ = guess;
    const double pairs = static_cast<double>(at_.size() * at_.size()) / 2;
    const int starts = std::clamp(static_cast<int>(kMostSwaps / (pairs * 20)), 2, 40);
    for (int start = 1; start < starts && swaps_ < kMostSwaps; ++start) {
      const LinkTimes found = descended();
      if (found.is_less(best)) {
        best = found;
        best_at = at_;
      }
      std::ranges::shuffle(at_, random_);
    }
    loads_.load(best_at);
    return {best_at, loads_.times().slowest};
  }

 private:
  static constexpr double kMostSwaps = 400'000;

  /// Until no exchange of two parts helps.
  LinkTimes descended() {
    loads_.load(at_);
    LinkTimes now = loads_.times();
    for (bool better = true; better && swaps_ < kMostSwaps;) {
      better = false;
      for (std::size_t r = 0; r + 1 < at_.size(); ++r)
        for (std::size_t s = r + 1; s < at_.size() && swaps_ < kMostSwaps; ++s, ++swaps_) {
          loads_.swap(at_, r, s);
          const LinkTimes found = loads_.times();
          if (found.is_less(now)) {
            now = found;
            better = true;
          } else {
            loads_.swap(at_, r, s);
          }
        }
      loads_.load(at_);  // drops the rests of rounding
      now = loads_.times();
    }
    return now;
  }

  LinkLoads loads_;
  PlaceOf at_;
  double swaps_ = 0;
  std::mt19937 random_{1};  ///< each run finds the same
};

/// The slowest link between each two places, for the search by the sum.
Square slowest_rates(const Links& links) {
  Square rates(links.places(), 1);
  for (std::size_t a = 0; a < rates.size(); ++a)
    for (std::size_t b = 0; b < rates.size(); ++b) {
      double least = 0;
      for (const std::size_t link : links.taken(a, b)) {
        const double rate = links.all()[link].gb_per_second;
        least = least > 0 ? std::min(least, rate) : rate;
      }
      if (least > 0) rates(a, b) = least;
    }
  return rates;
}

}  // namespace

Links::Links(const Square& bandwidths) : Links(bandwidths.size()) {
  for (std::size_t from = 0; from < places_; ++from)
    for (std::size_t to = 0; to < places_; ++to)
      if (from != to)
        add({fmt::format("{} to {}", from, to), bandwidths(from, to)}, {{from}}, {{to}});
}

std::size_t Links::add(Link link, std::span<const std::size_t> from,
                       std::span<const std::size_t> to) {
  if (!(link.gb_per_second > 0) || std::isinf(link.gb_per_second))
    throw InvalidArgument(
        fmt::format("a bandwidth of {} GB/s of link {}", link.gb_per_second, link.name));
  if (!(link.latency_us >= 0) || std::isinf(link.latency_us))
    throw InvalidArgument(fmt::format("a latency of {} us of link {}", link.latency_us, link.name));
  const std::size_t number = links_.size();
  for (const std::size_t a : from)
    for (const std::size_t b : to) {
      if (a >= places_ || b >= places_)
        throw InvalidArgument(
            fmt::format("place {} of link {}: there are {}", std::max(a, b), link.name, places_));
      if (a != b) taken_[a * places_ + b].push_back(number);
    }
  links_.push_back(std::move(link));
  return number;
}

double slowest_us(const Square& flows, const Links& links, const PlaceOf& place_of) {
  require_flows(flows, links);
  LinkLoads loads(flows, links);
  loads.load(place_of);
  return loads.times().slowest;
}

Assignment assign_by_bottleneck(const Square& flows, const Links& links) {
  require_flows(flows, links);
  if (static_cast<int>(flows.size()) <= kMostTried) return try_all_places(flows, links);
  return SwapSearch(flows, links).run(search(flows, slowest_rates(links)).place_of);
}

}  // namespace strake::placement
