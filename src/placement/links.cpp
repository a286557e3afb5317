#include "placement/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "placement/flow_peers.hpp"
#include "strake/error.hpp"

namespace strake::placement {
namespace {

using PlaceOf = std::vector<std::size_t>;

void require(const Square& flows, const Links& links) {
  if (flows.size() == 0 || flows.size() != links.places())
    throw InvalidArgument(
        fmt::format("flows of {} parts and links of {} places", flows.size(), links.places()));
  require_flows(flows);
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
      : peers_(flows),
        links_(links),
        bytes_(links.all().size()),
        us_(bytes_.size()),
        swap_of_(bytes_.size()) {}

  void load(const PlaceOf& at) {
    std::ranges::fill(bytes_, 0.0);
    for (std::size_t a = 0; a < at.size(); ++a)
      for (const FlowPeer& one : peers_.of(a))
        for (const std::size_t link : links_.taken(at[a], at[one.part])) bytes_[link] += one.sent;
    times_ = {};
    for (std::size_t link = 0; link < bytes_.size(); ++link) {
      us_[link] = links_.all()[link].us_for(bytes_[link]);
      times_.slowest = std::max(times_.slowest, us_[link]);
      times_.sum += us_[link];
    }
    work_ += static_cast<double>(bytes_.size() + at.size());
  }
  /// Exchanges the places of two parts if the times get less so; returns whether they did.
  bool swap_if_less(PlaceOf& at, std::size_t r, std::size_t s) {
    touched_.clear();
    ++swap_;
    put_both(at, r, s, -1);
    std::swap(at[r], at[s]);
    put_both(at, r, s, 1);
    work_ += static_cast<double>(1 + touched_.size());
    const LinkTimes found = times_of_touched();
    if (found.is_less(times_)) {
      times_ = found;
      return true;
    }
    std::swap(at[r], at[s]);
    for (const Before& before : touched_) {
      bytes_[before.link] = before.bytes;
      us_[before.link] = before.us;
    }
    return false;
  }
  [[nodiscard]] const LinkTimes& times() const noexcept { return times_; }
  /// Links that were looked at so far.
  [[nodiscard]] double work() const noexcept { return work_; }
  /// About as many links as swap_if_less() looks at if it gets each pair of parts once.
  [[nodiscard]] double work_for_all_swaps() const noexcept {
    constexpr double kTimes = 2;  // off the old places, and onto the new ones
    return kTimes * peers_.for_all_swaps();
  }

 private:
  static constexpr double kRest = 1e-3;  // bytes

  /// A link before a swap.
  struct Before {
    std::size_t link = 0;
    double bytes = 0;
    double us = 0;
  };

  void put(std::size_t from, std::size_t to, double bytes) {
    for (const std::size_t link : links_.taken(from, to)) {
      if (swap_of_[link] != swap_) {
        swap_of_[link] = swap_;
        touched_.push_back({link, bytes_[link], us_[link]});
      }
      bytes_[link] += bytes;
    }
    work_ += 1;
  }
  void put_both(const PlaceOf& at, std::size_t r, std::size_t s, double sign) {
    for (const std::size_t part : {r, s})
      for (const FlowPeer& one : peers_.of(part)) {
        if (part == s && one.part == r) continue;
        put(at[part], at[one.part], sign * one.sent);
        put(at[one.part], at[part], sign * one.got);
      }
  }
  /// The times after a swap. All links are looked at only if it touched the slowest one, and no
  /// other is as slow now.
  LinkTimes times_of_touched() {
    LinkTimes made{0, times_.sum};
    bool had_slowest = false;
    for (const Before& before : touched_) {
      const std::size_t link = before.link;
      // Bytes that were added and taken away leave a rest of rounding.
      us_[link] = links_.all()[link].us_for(bytes_[link] < kRest ? 0 : bytes_[link]);
      made.slowest = std::max(made.slowest, us_[link]);
      made.sum += us_[link] - before.us;
      had_slowest = had_slowest || before.us >= times_.slowest;
    }
    if (made.slowest >= times_.slowest) return made;
    if (!had_slowest) {
      made.slowest = times_.slowest;
      return made;
    }
    work_ += static_cast<double>(us_.size());
    made.slowest = std::ranges::max(us_);
    return made;
  }

  FlowPeers peers_;
  const Links& links_;
  std::vector<double> bytes_;  ///< by link
  std::vector<double> us_;     ///< by link
  LinkTimes times_;
  std::vector<std::size_t> swap_of_;  ///< by link: the last swap that touched it
  std::size_t swap_ = 0;
  std::vector<Before> touched_;  ///< by the last swap
  double work_ = 0;
};

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

  /// Whether all pairs can be tried a few times.
  [[nodiscard]] bool is_bounded() const noexcept {
    return 3 * loads_.work_for_all_swaps() <= kMostWork;
  }
  /// From the better of the order and the guess, then from the other, then from any places.
  Assignment run(PlaceOf guess) {
    const LinkTimes of_order = times_at(at_);
    if (times_at(guess).is_less(of_order)) std::swap(at_, guess);
    LinkTimes best = descended();
    PlaceOf best_at = at_;
    at_ = std::move(guess);
    constexpr int kStarts = 40;
    for (int start = 1; start < kStarts && loads_.work() < kMostWork; ++start) {
      const LinkTimes found = descended();
      if (found.is_less(best)) {
        best = found;
        best_at = at_;
      }
      std::ranges::shuffle(at_, random_);
    }
    return {best_at, times_at(best_at).slowest};
  }

 private:
  static constexpr double kMostWork = 1.5e8;  // links that are looked at: a second or two

  LinkTimes times_at(const PlaceOf& at) {
    loads_.load(at);
    return loads_.times();
  }
  /// Until no exchange of two parts helps, or time is up.
  LinkTimes descended() {
    loads_.load(at_);
    for (bool better = true; better && loads_.work() < kMostWork;) {
      better = false;
      for (std::size_t r = 0; r + 1 < at_.size() && loads_.work() < kMostWork; ++r)
        for (std::size_t s = r + 1; s < at_.size(); ++s)
          better = loads_.swap_if_less(at_, r, s) || better;
      loads_.load(at_);  // drops the rests of rounding
    }
    return loads_.times();
  }

  LinkLoads loads_;
  PlaceOf at_;
  std::mt19937 random_{1};  ///< each run finds the same
};

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
  require(flows, links);
  LinkLoads loads(flows, links);
  loads.load(place_of);
  return loads.times().slowest;
}

Square slowest_rates(const Links& links) {
  constexpr double kTimes = 1e3;
  double fastest = 1;
  for (const Link& link : links.all()) fastest = std::max(fastest, link.gb_per_second);
  Square rates(links.places(), kTimes * fastest);
  for (std::size_t a = 0; a < rates.size(); ++a)
    for (std::size_t b = 0; b < rates.size(); ++b)
      for (const std::size_t link : links.taken(a, b))
        rates(a, b) = std::min(rates(a, b), links.all()[link].gb_per_second);
  return rates;
}

Assignment assign_by_bottleneck(const Square& flows, const Links& links) {
  require(flows, links);
  if (static_cast<int>(flows.size()) <= kMostTried) return try_all_places(flows, links);
  SwapSearch swaps(flows, links);
  if (!swaps.is_bounded()) {
    const PlaceOf in_order = places_in_order(flows.size());
    return {in_order, slowest_us(flows, links, in_order)};
  }
  return swaps.run(search(flows, slowest_rates(links)).place_of);
}

}  // namespace strake::placement
