#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "placement/adjacency.hpp"
#include "placement/graph.hpp"
#include "placement/growth.hpp"
#include "placement/refinement.hpp"
#include "strake/error.hpp"

namespace strake::placement {
namespace {

/// Edges that map_graph() looks at in all: two to three seconds.
constexpr std::size_t kMostLookedAt = std::size_t{1} << 28;

/// Neighbours in a graph that is large: it gets no search, and of its guesses only those are made
/// better that are nearly as good as the best. 5,000 vertices of 26 neighbours.
constexpr std::size_t kLarge = std::size_t{1} << 17;

void require_guess(std::size_t number, const std::vector<int>& guess, const std::vector<int>& sizes,
                   int vertices) {
  if (std::ssize(guess) != vertices)
    throw InvalidArgument(
        fmt::format("guess {} has {} vertices, of {}", number, guess.size(), vertices));
  std::vector<int> counts(sizes.size());
  for (std::size_t v = 0; v < guess.size(); ++v) {
    if (guess[v] < 0 || guess[v] >= std::ssize(sizes))
      throw InvalidArgument(fmt::format("guess {} has vertex {} in group {}, of {}", number, v,
                                        guess[v], sizes.size()));
    ++counts[static_cast<std::size_t>(guess[v])];
  }
  for (std::size_t g = 0; g < sizes.size(); ++g)
    if (counts[g] != sizes[g])
      throw InvalidArgument(fmt::format("guess {} has {} vertices in group {} of size {}", number,
                                        counts[g], g, sizes[g]));
}

std::vector<int> consecutive(const std::vector<int>& sizes) {
  std::vector<int> made;
  for (std::size_t g = 0; g < sizes.size(); ++g)
    made.insert(made.end(), static_cast<std::size_t>(sizes[g]), static_cast<int>(g));
  return made;
}

/// The groups' numbers, smaller groups first.
std::vector<int> by_size(const std::vector<int>& sizes) {
  std::vector<int> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int g) { return sizes[static_cast<std::size_t>(g)]; });
  return order;
}

/// A search from other states than the guesses, which small graphs have the time for.
class Search {
 public:
  Search(const Adjacency& adjacency, const std::vector<int>& sizes, Refinement best)
      : adjacency_(adjacency),
        sizes_(sizes),
        order_(by_size(sizes)),
        best_(std::move(best)),
        least_(best_.across()) {}

  /// Looks at about so many edges.
  Refinement run(std::size_t edges) && {
    constexpr int kMostTries = 50;
    for (int i = 0; i < kMostTries && edges > 0 && least_ > 0; ++i) {
      Refinement next(adjacency_, static_cast<int>(sizes_.size()),
                      i % 2 == 0 ? disturbed() : grown());
      edges -= next.improve(edges);
      const std::int64_t across = next.across();
      if (across > least_) continue;
      least_ = across;
      best_ = std::move(next);
    }
    return std::move(best_);
  }

 private:
  /// From 0 to less than `end`; the same with every C++ library.
  std::size_t draw(std::size_t end) { return random_() % end; }

  /// The best state with some vertices swapped.
  std::vector<int> disturbed() {
    std::vector<int> group_of = best_.group_of();
    const std::size_t swaps = 1 + draw(1 + group_of.size() / 6);
    for (std::size_t i = 0; i < swaps; ++i)
      std::swap(group_of[draw(group_of.size())], group_of[draw(group_of.size())]);
    return group_of;
  }
  std::vector<int> grown() {
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[draw(i)]);
    const auto first = static_cast<int>(draw(best_.group_of().size()));
    return grow(adjacency_, sizes_, order_, first);
  }

  const Adjacency& adjacency_;
  const std::vector<int>& sizes_;
  std::vector<int> order_;
  Refinement best_;
  std::int64_t least_;
  std::mt19937 random_{1};
};

}  // namespace

std::vector<int> map_graph(const Graph& graph, const std::vector<int>& sizes,
                           const std::vector<std::vector<int>>& guesses, std::size_t searched) {
  require_sizes(graph.vertices, sizes);
  require_edges(graph);
  for (std::size_t i = 0; i < guesses.size(); ++i)
    require_guess(i, guesses[i], sizes, graph.vertices);
  if (graph.vertices == 0) return {};
  const Adjacency adjacency(graph);
  std::vector<Refinement> starts;
  const auto groups = static_cast<int>(sizes.size());
  for (const std::vector<int>& guess : guesses) starts.emplace_back(adjacency, groups, guess);
  starts.emplace_back(adjacency, groups, consecutive(sizes));
  starts.emplace_back(adjacency, groups, grow(adjacency, sizes, by_size(sizes)));
  std::ranges::stable_sort(starts, {}, &Refinement::across);
  // The best ones first, as the number of edges that are looked at is bounded.
  std::size_t edges = kMostLookedAt;
  edges -= starts.front().improve(edges);
  const bool is_large = adjacency.size() > kLarge;
  const std::int64_t least = starts.front().across();
  for (Refinement& start : std::span(starts).subspan(1))
    if (!is_large || start.across() - least <= least / 2) edges -= start.improve(edges);
  Refinement& best = *std::ranges::min_element(starts, {}, &Refinement::across);
  if (is_large) return best.group_of();
  return Search(adjacency, sizes, std::move(best)).run(std::min(edges, searched)).group_of();
}

}  // namespace strake::placement
