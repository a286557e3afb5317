#include "placement/adjacency.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strake/error.hpp"

namespace strake::placement {
namespace {

/// Sums of weights, and differences of such sums, fit into 64 bits.
constexpr std::int64_t kMostWeight = std::int64_t{1} << 61;

}  // namespace

void require_sizes(std::int64_t vertices, const std::vector<int>& sizes) {
  std::int64_t all = 0;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    if (sizes[g] < 0) throw InvalidArgument(fmt::format("group {} of size {}", g, sizes[g]));
    all += sizes[g];
  }
  if (all != vertices)
    throw InvalidArgument(
        fmt::format("{} groups of {} vertices in all, of {}", sizes.size(), all, vertices));
}

void require_edges(const Graph& graph) {
  std::int64_t all = 0;
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const Edge& edge = graph.edges[i];
    for (const int end : {edge.from, edge.to})
      if (end < 0 || end >= graph.vertices)
        throw InvalidArgument(fmt::format("edge {} from vertex {} to {}, of {} vertices", i,
                                          edge.from, edge.to, graph.vertices));
    if (edge.weight < 0 || edge.weight > kMostWeight - all)
      throw InvalidArgument(
          fmt::format("edge {} from vertex {} to {} weighs {}, those before it {}; from 0 to {} "
                      "in all",
                      i, edge.from, edge.to, edge.weight, all, kMostWeight));
    all += edge.weight;
  }
}

Adjacency::Adjacency(const Graph& graph) : begin_(static_cast<std::size_t>(graph.vertices) + 1) {
  const auto counts = [](const Edge& edge) { return edge.from != edge.to && edge.weight > 0; };
  for (const Edge& edge : graph.edges) {
    if (!counts(edge)) continue;
    ++begin_[static_cast<std::size_t>(edge.from) + 1];
    ++begin_[static_cast<std::size_t>(edge.to) + 1];
  }
  for (std::size_t v = 1; v < begin_.size(); ++v) begin_[v] += begin_[v - 1];
  all_.resize(begin_.back());
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for (const Edge& edge : graph.edges) {
    if (!counts(edge)) continue;
    all_[next[static_cast<std::size_t>(edge.from)]++] = {edge.to, edge.weight};
    all_[next[static_cast<std::size_t>(edge.to)]++] = {edge.from, edge.weight};
  }
  std::size_t kept = 0;
  for (std::size_t v = 0; v + 1 < begin_.size(); ++v) {
    const std::span<Neighbour> row(all_.data() + begin_[v], begin_[v + 1] - begin_[v]);
    std::ranges::sort(row, {}, &Neighbour::vertex);
    const std::size_t first = kept;
    for (const Neighbour& one : row) {
      if (kept > first && all_[kept - 1].vertex == one.vertex)
        all_[kept - 1].weight += one.weight;
      else
        all_[kept++] = one;
    }
    begin_[v] = first;
  }
  begin_.back() = kept;
  all_.resize(kept);
}

}  // namespace strake::placement
