#include "placement/assignment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "placement/flow_peers.hpp"
#include "strake/error.hpp"

namespace strake::placement {
namespace {

using Places = std::vector<std::size_t>;

void require(const Square& flows, const Square& bandwidths) {
  const std::size_t size = flows.size();
  if (size == 0 || size != bandwidths.size())
    throw InvalidArgument(
        fmt::format("flows of {} parts and bandwidths of {} places", size, bandwidths.size()));
  require_flows(flows);
  for (std::size_t a = 0; a < size; ++a)
    for (std::size_t b = 0; b < size; ++b)
      if (a != b && (!(bandwidths(a, b) > 0) || std::isinf(bandwidths(a, b))))
        throw InvalidArgument(
            fmt::format("a bandwidth of {} from place {} to {}", bandwidths(a, b), a, b));
}

/// The time for a unit from place to place; none within one.
Square times_of(const Square& bandwidths) {
  Square times(bandwidths.size());
  for (std::size_t a = 0; a < times.size(); ++a)
    for (std::size_t b = 0; b < times.size(); ++b)
      if (a != b) times(a, b) = 1 / bandwidths(a, b);
  return times;
}

double sum(const Square& flows, const Square& times, const Places& at) {
  double cost = 0;
  for (std::size_t a = 0; a < at.size(); ++a)
    for (std::size_t b = 0; b < at.size(); ++b) cost += flows(a, b) * times(at[a], at[b]);
  return cost;
}

/// Calls `visit(at, cost)` for all assignments, those in order first.
template <typename Visit>
void try_all(const Square& flows, const Square& times, const Visit& visit) {
  Places at = places_in_order(flows.size());
  do {
    visit(at, sum(flows, times, at));
  } while (std::ranges::next_permutation(at).found);
}

/// By how much the cost changes when the parts r and s change places.
double change(const FlowPeers& peers, const Square& times, const Places& at, std::size_t r,
              std::size_t s) {
  const std::size_t x = at[r];
  const std::size_t y = at[s];
  double more = 0;
  for (const FlowPeer& one : peers.of(r)) {
    const std::size_t z = at[one.part];
    more += one.part == s
                ? (one.sent - one.got) * (times(y, x) - times(x, y))
                : one.sent * (times(y, z) - times(x, z)) + one.got * (times(z, y) - times(z, x));
  }
  for (const FlowPeer& one : peers.of(s)) {
    const std::size_t z = at[one.part];
    if (one.part != r)
      more += one.sent * (times(x, z) - times(y, z)) + one.got * (times(z, x) - times(z, y));
  }
  return more;
}

/// Swaps the best pair at each step, also where that costs more, but none that brings both parts
/// back to places that they have left lately, unless it is better than all before. Descents, which
/// make each swap that pays, go before it and after it.
class TabuSearch {
 public:
  TabuSearch(const Square& flows, const Square& times)
      : flows_(flows),
        times_(times),
        peers_(flows),
        until_(flows.size()),
        at_(places_in_order(flows.size())) {}

  /// The best one of all that were met.
  Assignment run() {
    best_ = {at_, sum(flows_, times_, at_)};
    descend();
    swap_best_pairs();
    constexpr int kTries = 400;
    for (int i = 0; i < kTries && looked_at_ < kMostLookedAt; ++i) {
      if (i % 4 == 3)
        std::ranges::shuffle(at_, random_);
      else
        disturb_best();
      descend();
    }
    best_.cost = sum(flows_, times_, best_.place_of);
    return best_;
  }

 private:
  /// Peers and pairs that all descents look at: less than a second.
  static constexpr double kMostLookedAt = 1e8;

  /// Starts anew several times: short searches from many places find more than a long one.
  void swap_best_pairs() {
    const std::size_t size = at_.size();
    // A step looks at all pairs: 25 steps for each place, from up to 40 starts. An operation, a
    // peer or a pair, takes some 4 ns, so all steps take less than a second.
    constexpr double kMostOperations = 1.5e8;
    constexpr std::size_t kStarts = 40;
    const double step_operations = (peers_.for_all_swaps() + static_cast<double>(size * size)) / 2;
    const auto steps = static_cast<std::size_t>(kMostOperations / step_operations);
    const std::size_t turns = std::min(25 * size, steps);
    const std::size_t starts = turns == 0 ? 0 : std::clamp(steps / turns, std::size_t{1}, kStarts);
    const double least = static_cast<double>(size) * 0.9;
    std::uniform_real_distribution<double> tenure(least, least * 1.3 + 1);
    for (std::size_t start = 0; start < starts; ++start) {
      if (start > 0) std::ranges::shuffle(at_, random_);
      until_ = Square(size);
      cost_ = sum(flows_, times_, at_);
      for (std::size_t turn = 1; turn <= turns; ++turn) step(static_cast<double>(turn), tenure);
    }
  }
  /// From the best places with up to a third of the parts swapped.
  void disturb_best() {
    at_ = best_.place_of;
    const std::size_t swaps = 1 + random_() % (1 + at_.size() / 6);
    for (std::size_t i = 0; i < swaps; ++i)
      std::swap(at_[random_() % at_.size()], at_[random_() % at_.size()]);
  }
  /// Until no swap pays, or all descents together took too long.
  void descend() {
    const double least = -1e-12 * best_.cost;
    for (bool better = true; better && looked_at_ < kMostLookedAt;) {
      better = false;
      for (std::size_t r = 0; r + 1 < at_.size() && looked_at_ < kMostLookedAt; ++r)
        for (std::size_t s = r + 1; s < at_.size(); ++s) {
          looked_at_ += static_cast<double>(peers_.of(r).size() + peers_.of(s).size() + 1);
          if (change(peers_, times_, at_, r, s) >= least) continue;
          std::swap(at_[r], at_[s]);
          better = true;
        }
    }
    const double cost = sum(flows_, times_, at_);
    if (cost < best_.cost * (1 - 1e-12)) best_ = {at_, cost};
  }
  void step(double turn, std::uniform_real_distribution<double>& tenure) {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    double least = kNone;
    std::size_t first = 0;
    std::size_t second = 0;
    for (std::size_t r = 0; r + 1 < at_.size(); ++r) {
      for (std::size_t s = r + 1; s < at_.size(); ++s) {
        const double more = change(peers_, times_, at_, r, s);
        const bool is_tabu = until_(r, at_[s]) > turn && until_(s, at_[r]) > turn;
        const bool is_best = cost_ + more < best_.cost * (1 - 1e-12);
        if (more >= least || (is_tabu && !is_best)) continue;
        least = more;
        first = r;
        second = s;
      }
    }
    if (least == kNone) return;
    until_(first, at_[first]) = turn + tenure(random_);
    until_(second, at_[second]) = turn + tenure(random_);
    std::swap(at_[first], at_[second]);
    cost_ += least;
    if (cost_ < best_.cost * (1 - 1e-12)) best_ = {at_, cost_};
  }

  const Square& flows_;
  const Square& times_;
  FlowPeers peers_;
  Square until_;  ///< by part and place: the turn before which it does not go back there
  Places at_;
  double cost_ = 0;
  double looked_at_ = 0;  ///< by descents
  Assignment best_;
  std::mt19937 random_{1};  ///< each run finds the same
};

}  // namespace

double cost_of(const Square& flows, const Square& bandwidths, const Places& place_of) {
  require(flows, bandwidths);
  return sum(flows, times_of(bandwidths), place_of);
}

Assignment assign(const Square& flows, const Square& bandwidths) {
  require(flows, bandwidths);
  const Square times = times_of(bandwidths);
  if (static_cast<int>(flows.size()) > kMostTried) return search(flows, bandwidths);
  Assignment best;
  try_all(flows, times, [&](const Places& at, double cost) {
    if (best.place_of.empty() || cost < best.cost * (1 - 1e-12)) best = {at, cost};
  });
  return best;
}

Assignment search(const Square& flows, const Square& bandwidths) {
  require(flows, bandwidths);
  const Square times = times_of(bandwidths);
  return TabuSearch(flows, times).run();
}

Spread spread_of(const Square& flows, const Square& bandwidths) {
  require(flows, bandwidths);
  if (static_cast<int>(flows.size()) > kMostTried)
    throw InvalidArgument(
        fmt::format("all assignments of {} places, more than {}", flows.size(), kMostTried));
  double all = 0;
  double count = 0;
  double worst = 0;
  double best = std::numeric_limits<double>::infinity();
  try_all(flows, times_of(bandwidths), [&](const Places&, double cost) {
    all += cost;
    ++count;
    worst = std::max(worst, cost);
    best = std::min(best, cost);
  });
  if (best <= 0) return {};
  return {all / count / best, worst / best};
}

}  // namespace strake::placement
