/// \file  The neighbours of each vertex of a graph, in one array, and which graphs are valid.
/// Internal to map_graph() and its guesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "placement/graph.hpp"

namespace strake::placement {

/// \throws InvalidArgument  a size below 0, or sizes that do not add up to the number of vertices
void require_sizes(std::int64_t vertices, const std::vector<int>& sizes);

/// \throws InvalidArgument  an edge of a vertex that there is not, or of a negative weight, or
/// whose weight is more than 2^61 together with those before it
void require_edges(const Graph& graph);

/// An undirected edge as one of its ends sees it.
struct Neighbour {
  int vertex = 0;
  std::int64_t weight = 0;  ///< of both directions together, above 0
};

/// Both directions of an edge, and all edges between two vertices, are one. Edges of weight 0, and
/// those from a vertex to itself, are left out.
class Adjacency {
 public:
  /// \param graph  that has passed require_edges(). Cost: O(edges log
  /// edges)
  explicit Adjacency(const Graph& graph);

  [[nodiscard]] int vertices() const noexcept { return static_cast<int>(begin_.size()) - 1; }
  /// Both ends of each edge count.
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  /// By the neighbour's number.
  [[nodiscard]] std::span<const Neighbour> of(int vertex) const noexcept {
    const auto v = static_cast<std::size_t>(vertex);
    return {all_.data() + begin_[v], begin_[v + 1] - begin_[v]};
  }

 private:
  std::vector<std::size_t> begin_;  ///< by vertex, and the end
  std::vector<Neighbour> all_;
};

}  // namespace strake::placement
