/// \file  Makes the groups of a graph's vertices better by swaps, which keep sizes. Source:
/// Fiduccia and Mattheyses (1982), "A linear-time heuristic for improving network partitions",
/// applied to pairs of groups. Internal to map_graph().
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "placement/adjacency.hpp"

namespace strake::placement {

/// Groups that change. Used by one thread.
class Refinement {
 public:
  /// \param group_of  by vertex, each from 0 to `groups` - 1
  Refinement(const Adjacency& adjacency, int groups, std::vector<int> group_of);

  /// Moves vertices from groups that are too large to others, along groups in between, at the least
  /// loss of each step, until group g has `sizes[g]` vertices.
  void balance(const std::vector<int>& sizes);

  /// Swaps vertices of neighbouring groups until no pair of groups gets better so, or about so many
  /// edges were looked at; returns how many were. No size changes, and no more weight is across
  /// than before.
  std::size_t improve(std::size_t most_edges);

  [[nodiscard]] const std::vector<int>& group_of() const noexcept { return group_of_; }
  /// The weight of the edges between different groups.
  [[nodiscard]] std::int64_t across() const;

 private:
  /// A vertex of a pair, and what is gained if it goes to the other group.
  using Candidate = std::pair<std::int64_t, int>;
  using Heap = std::vector<Candidate>;

  [[nodiscard]] std::vector<int>& members(int group) noexcept {
    return members_[static_cast<std::size_t>(group)];
  }
  [[nodiscard]] int& group(int vertex) noexcept {
    return group_of_[static_cast<std::size_t>(vertex)];
  }
  [[nodiscard]] std::vector<int> neighbours_of(int group);
  [[nodiscard]] std::vector<int> path_to_small(int from, const std::vector<int>& sizes);
  void shift(int from, int to);

  bool improve_pair(int a, int b);
  void begin_pair(int a, int b);
  [[nodiscard]] int take_best(int from);
  std::int64_t move_in_pair(int vertex, int to);
  void end_pair(int a, int b, std::size_t kept);

  const Adjacency* adjacency_;
  std::vector<int> group_of_;
  std::vector<std::vector<int>> members_;  ///< by group
  std::vector<int> seen_;                  ///< by group: the last search that met it
  int search_ = 0;
  std::size_t looked_at_ = 0;  ///< edges, by improve()

  // The pair at hand.
  int first_ = 0;
  Heap heaps_[2];                   ///< of first_ and the other group, with entries that are stale
  std::vector<std::int64_t> gain_;  ///< by vertex
  std::vector<char> is_free_;       ///< by vertex: in the pair, and not moved yet
  std::vector<int> moved_;          ///< in their order, from either group in turn
};

}  // namespace strake::placement
