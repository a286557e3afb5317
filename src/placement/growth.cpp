#include "placement/growth.hpp"

#include <queue>
#include <utility>

namespace strake::placement {
namespace {

class Growth {
 public:
  Growth(const Adjacency& adjacency, int first)
      : adjacency_(adjacency),
        group_of_(static_cast<std::size_t>(adjacency.vertices()), -1),
        first_(first),
        own_(group_of_.size()),
        own_group_(group_of_.size(), -1),
        open_(group_of_.size()) {
    for (int v = 0; v < adjacency.vertices(); ++v) {
      for (const Neighbour& one : adjacency.of(v)) open_[index(v)] += one.weight;
      seeds_.emplace(-open_[index(v)], -v);
    }
  }

  void fill(int group, int size) {
    nearby_ = {};
    for (int i = 0; i < size; ++i) {
      int vertex = std::exchange(first_, -1);
      if (vertex < 0)
        vertex = take(nearby_, [&](int v) { return own_[index(v)] - open_[index(v)]; });
      if (vertex < 0) vertex = take(seeds_, [&](int v) { return -open_[index(v)]; });
      add(vertex, group);
    }
  }

  [[nodiscard]] std::vector<int> group_of() && { return std::move(group_of_); }

 private:
  /// By value, and then by number; entries whose value has changed are stale.
  using Heap = std::priority_queue<std::pair<std::int64_t, int>>;

  static std::size_t index(int vertex) noexcept { return static_cast<std::size_t>(vertex); }

  /// The best vertex that has no group; -1: there is none.
  template <typename Value>
  int take(Heap& heap, const Value& value) {
    while (!heap.empty()) {
      const auto [known, minus_vertex] = heap.top();
      heap.pop();
      const int vertex = -minus_vertex;
      if (group_of_[index(vertex)] < 0 && value(vertex) == known) return vertex;
    }
    return -1;
  }

  void add(int vertex, int group) {
    group_of_[index(vertex)] = group;
    for (const Neighbour& one : adjacency_.of(vertex)) {
      const std::size_t n = index(one.vertex);
      if (group_of_[n] >= 0) continue;
      if (std::exchange(own_group_[n], group) != group) own_[n] = 0;
      own_[n] += one.weight;
      open_[n] -= one.weight;
      nearby_.emplace(own_[n] - open_[n], -one.vertex);
      seeds_.emplace(-open_[n], -one.vertex);
    }
  }

  const Adjacency& adjacency_;
  std::vector<int> group_of_;
  int first_;                       ///< -1: it has been taken
  std::vector<std::int64_t> own_;   ///< by vertex: the weight of its edges to own_group_
  std::vector<int> own_group_;      ///< by vertex: the last group with an edge to it
  std::vector<std::int64_t> open_;  ///< by vertex: the weight of its edges to those without group
  Heap nearby_;                     ///< neighbours of the group that grows
  Heap seeds_;                      ///< all
};

}  // namespace

std::vector<int> grow(const Adjacency& adjacency, const std::vector<int>& sizes,
                      const std::vector<int>& order, int first) {
  Growth growth(adjacency, first);
  for (const int group : order) growth.fill(group, sizes[static_cast<std::size_t>(group)]);
  return std::move(growth).group_of();
}

}  // namespace strake::placement
