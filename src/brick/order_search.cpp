// Orders of surface regions, built level by level. Two regions side by side save a message for each
// neighbour that gets both: 2^m - 1 of these, if the regions have m equal signs other than 0. So an
// order of the fewest messages is a Hamiltonian path of the greatest weight.
//
// Level m holds the regions with m signs other than 0. A link that saves 2^m - 1 messages joins
// regions of level m and above, and never two of level m, as these differ in a sign. So the best
// that level m can do is to be at both ends of each path that the levels above form: each end is
// linked to a region of level m that has all signs of the end but one. If every level from the top
// to the first does this, the order reaches the bound. In an even number of dimensions the last
// such link would close a circle, and is left out.
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <random>
#include <utility>

#include "brick/order.hpp"
#include "strake/error.hpp"

namespace strake::brick {
namespace {

/// Disjoint paths through all regions. At first each region is a path of its own.
class RegionPaths {
 public:
  explicit RegionPaths(const std::vector<Region>& regions)
      : links_(static_cast<std::size_t>(regions.back()) + 1), other_end_(links_.size()) {
    for (const Region region : regions) other_end_[at(region)] = region;
  }

  [[nodiscard]] int links_of(Region region) const { return links_[at(region)].count; }

  /// Whether a link from `end`, the end of a path, to `region` leaves paths only.
  [[nodiscard]] bool may_link(Region end, Region region) const {
    return links_of(region) < 2 && other_end_[at(end)] != region;
  }

  void link(Region one, Region other) {
    const Region first = other_end_[at(one)];
    const Region last = other_end_[at(other)];
    links_[at(one)].add(other);
    links_[at(other)].add(one);
    other_end_[at(first)] = last;
    other_end_[at(last)] = first;
  }

  /// All regions, path by path; a path begins with the end that comes first in `regions`.
  [[nodiscard]] std::vector<Region> one_by_one(const std::vector<Region>& regions) const {
    std::vector<Region> order;
    std::vector<bool> done(links_.size());
    for (const Region first : regions) {
      if (links_of(first) == 2 || done[at(first)]) continue;
      Region before = kNone;
      for (Region here = first; here != kNone;) {
        done[at(here)] = true;
        order.push_back(here);
        const Region next = links_[at(here)].beyond(before);
        before = here;
        here = next;
      }
    }
    return order;
  }

 private:
  static constexpr Region kNone = -1;

  struct Links {
    int count = 0;
    std::array<Region, 2> to = {kNone, kNone};
    void add(Region region) { to[static_cast<std::size_t>(count++)] = region; }
    /// The region to go to for one who comes from `before`.
    [[nodiscard]] Region beyond(Region before) const { return to[to[0] == before ? 1 : 0]; }
  };

  static std::size_t at(Region region) { return static_cast<std::size_t>(region); }

  std::vector<Links> links_;
  std::vector<Region> other_end_;  ///< by end of a path
};

/// Builds the orders of one search.
class OrderBuilder {
 public:
  OrderBuilder(int dims, std::uint32_t seed)
      : dims_(dims), regions_(regions_of(dims)), random_(seed) {
    for (const Region region : regions_) {
      std::size_t level = 0;
      for (int axis = 0; axis < dims; ++axis) level += sign_of(region, axis) != 0 ? 1U : 0U;
      levels_[level].push_back(region);
    }
  }

  std::vector<Region> build() {
    RegionPaths paths(regions_);
    for (int level = dims_ - 1; level > 0; --level) {
      const int fewest = level == 1 && dims_ % 2 == 0 ? 1 : 0;
      link_level(level, fewest, paths);
    }
    return paths.one_by_one(regions_);
  }

 private:
  /// A level is linked anew up to this many times before the order is given up. In 5 dimensions a
  /// search takes 0.26 ms with 100 tries, 0.34 ms with 20 and 0.67 ms with 1,000.
  static constexpr int kTries = 100;

  /// Links ends until no more than `fewest` are left, or tries are used up: then as in the best
  /// try.
  void link_level(int level, int fewest, RegionPaths& paths) {
    const RegionPaths before = paths;
    int least = -1;
    for (int i = 0; i < kTries && (least < 0 || least > fewest); ++i) {
      RegionPaths tried = before;
      const int left = try_level(level, tried);
      if (least >= 0 && left >= least) continue;
      least = left;
      paths = std::move(tried);
    }
  }

  /// Links the ends of the level above to regions of `level` at random. Returns how many ends found
  /// no region.
  int try_level(int level, RegionPaths& paths) {
    std::vector<Region> ends;
    for (const Region region : levels_[static_cast<std::size_t>(level) + 1])
      for (int links = paths.links_of(region); links < 2; ++links) ends.push_back(region);
    for (std::size_t i = ends.size(); i > 1; --i) std::swap(ends[i - 1], ends[draw(i)]);
    int left = 0;
    std::vector<Region> possible;
    for (const Region end : ends) {
      possible.clear();
      int place = 1;
      for (int axis = 0; axis < dims_; ++axis, place *= 3) {
        const int sign = sign_of(end, axis);
        const Region below = end - sign * place;
        if (sign != 0 && paths.may_link(end, below)) possible.push_back(below);
      }
      if (possible.empty())
        ++left;
      else
        paths.link(end, possible[draw(possible.size())]);
    }
    return left;
  }

  /// A number below `count`. The remainder is alike with every C++ library; distributions are not.
  std::size_t draw(std::size_t count) { return random_() % count; }

  int dims_;
  std::vector<Region> regions_;
  std::array<std::vector<Region>, kMostDims + 1> levels_;  ///< by number of signs other than 0
  std::mt19937 random_;
};

}  // namespace

std::vector<Region> search_order(int dims, const SearchOptions& options) {
  const int least = least_messages(dims);
  if (options.rounds < 1)
    throw InvalidArgument(fmt::format("{} rounds of a search for an order", options.rounds));
  OrderBuilder builder(dims, options.seed);
  std::vector<Region> best = builder.build();
  int messages = messages_of(dims, best);
  for (int round = 1; round < options.rounds && messages > least; ++round) {
    std::vector<Region> order = builder.build();
    const int with = messages_of(dims, order);
    if (with >= messages) continue;
    messages = with;
    best = std::move(order);
  }
  return best;
}

}  // namespace strake::brick
