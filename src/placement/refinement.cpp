#include "placement/refinement.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace strake::placement {
namespace {

/// A pair is given up after so many swaps that led to nothing.
constexpr std::size_t kMostInVain = 32;

/// A move takes about as long as looking at so many edges, for each of its edges.
constexpr std::size_t kHeapCost = 4;

/// Higher gains first, then lower numbers.
bool is_worse(const std::pair<std::int64_t, int>& a,
              const std::pair<std::int64_t, int>& b) noexcept {
  return a.first != b.first ? a.first < b.first : a.second > b.second;
}

}  // namespace

Refinement::Refinement(const Adjacency& adjacency, int groups, std::vector<int> group_of)
    : adjacency_(&adjacency),
      group_of_(std::move(group_of)),
      members_(static_cast<std::size_t>(groups)),
      seen_(static_cast<std::size_t>(groups)),
      gain_(group_of_.size()),
      is_free_(group_of_.size()) {
  for (int v = 0; v < adjacency.vertices(); ++v) members(group(v)).push_back(v);
}

std::int64_t Refinement::across() const {
  std::int64_t across = 0;
  for (int v = 0; v < adjacency_->vertices(); ++v)
    for (const Neighbour& one : adjacency_->of(v))
      if (one.vertex > v &&
          group_of_[static_cast<std::size_t>(v)] != group_of_[static_cast<std::size_t>(one.vertex)])
        across += one.weight;
  return across;
}

/// The groups that have an edge to one, in the order of their first edges.
std::vector<int> Refinement::neighbours_of(int of) {
  ++search_;
  seen_[static_cast<std::size_t>(of)] = search_;
  std::vector<int> found;
  for (const int v : members(of)) {
    for (const Neighbour& one : adjacency_->of(v)) {
      const int other = group(one.vertex);
      int& seen = seen_[static_cast<std::size_t>(other)];
      if (seen == search_) continue;
      seen = search_;
      found.push_back(other);
    }
    looked_at_ += adjacency_->of(v).size();
  }
  return found;
}

std::size_t Refinement::improve(std::size_t most_edges) {
  // The last round in which a group changed.
  std::vector<int> changed(members_.size(), 0);
  looked_at_ = 0;
  bool any = true;
  for (int round = 1; any; ++round) {
    any = false;
    for (int a = 0; a < static_cast<int>(members_.size()); ++a) {
      for (const int b : neighbours_of(a)) {
        if (b < a || members(a).size() + members(b).size() < 3) continue;
        int& at_a = changed[static_cast<std::size_t>(a)];
        int& at_b = changed[static_cast<std::size_t>(b)];
        if (std::max(at_a, at_b) < round - 1) continue;
        if (looked_at_ >= most_edges) return most_edges;
        if (!improve_pair(a, b)) continue;
        at_a = at_b = round;
        any = true;
      }
    }
  }
  return std::min(looked_at_, most_edges);
}

/// Moves the best vertex of either group in turn, also where that costs something, and goes back to
/// the best of all states with the groups' sizes. Returns whether that is another one.
bool Refinement::improve_pair(int a, int b) {
  begin_pair(a, b);
  std::int64_t gained = 0;
  std::int64_t best = 0;
  std::size_t kept = 0;
  const std::size_t swaps = std::min(members(a).size(), members(b).size());
  for (std::size_t swap = 1; swap <= swaps && swap - kept <= kMostInVain; ++swap) {
    gained += move_in_pair(take_best(a), b);
    gained += move_in_pair(take_best(b), a);
    if (gained <= best) continue;
    best = gained;
    kept = swap;
  }
  end_pair(a, b, kept);
  return kept > 0;
}

void Refinement::begin_pair(int a, int b) {
  first_ = a;
  for (const int own : {a, b}) {
    const int other = own == a ? b : a;
    Heap& heap = heaps_[own == first_ ? 0 : 1];
    heap.clear();
    for (const int v : members(own)) {
      std::int64_t gain = 0;
      for (const Neighbour& one : adjacency_->of(v)) {
        const int at = group(one.vertex);
        if (at == own)
          gain -= one.weight;
        else if (at == other)
          gain += one.weight;
      }
      looked_at_ += adjacency_->of(v).size();
      gain_[static_cast<std::size_t>(v)] = gain;
      is_free_[static_cast<std::size_t>(v)] = 1;
      heap.emplace_back(gain, v);
    }
    std::ranges::make_heap(heap, is_worse);
  }
  moved_.clear();
}

/// A group has vertices that are free in each of its pair's swaps.
int Refinement::take_best(int from) {
  Heap& heap = heaps_[from == first_ ? 0 : 1];
  while (true) {
    std::ranges::pop_heap(heap, is_worse);
    const auto [gain, vertex] = heap.back();
    heap.pop_back();
    const auto v = static_cast<std::size_t>(vertex);
    if (is_free_[v] != 0 && gain_[v] == gain) return vertex;
  }
}

/// Returns what is gained.
std::int64_t Refinement::move_in_pair(int vertex, int to) {
  const int from = group(vertex);
  group(vertex) = to;
  is_free_[static_cast<std::size_t>(vertex)] = 0;
  moved_.push_back(vertex);
  looked_at_ += kHeapCost * adjacency_->of(vertex).size();
  for (const Neighbour& one : adjacency_->of(vertex)) {
    const auto n = static_cast<std::size_t>(one.vertex);
    if (is_free_[n] == 0) continue;
    gain_[n] += group_of_[n] == from ? 2 * one.weight : -2 * one.weight;
    Heap& heap = heaps_[group_of_[n] == first_ ? 0 : 1];
    heap.emplace_back(gain_[n], one.vertex);
    std::ranges::push_heap(heap, is_worse);
  }
  return gain_[static_cast<std::size_t>(vertex)];
}

/// Keeps so many swaps, and takes back the others.
void Refinement::end_pair(int a, int b, std::size_t kept) {
  for (std::size_t i = 2 * kept; i < moved_.size(); ++i) group(moved_[i]) = i % 2 == 0 ? a : b;
  for (const int own : {a, b})
    for (const int v : members(own)) is_free_[static_cast<std::size_t>(v)] = 0;
  if (kept == 0) return;
  std::vector<int> both = members(a);
  both.insert(both.end(), members(b).begin(), members(b).end());
  std::ranges::sort(both);
  members(a).clear();
  members(b).clear();
  for (const int v : both) members(group(v)).push_back(v);
}

void Refinement::balance(const std::vector<int>& sizes) {
  for (int from = 0; from < static_cast<int>(sizes.size()); ++from) {
    while (std::ssize(members(from)) > sizes[static_cast<std::size_t>(from)]) {
      const std::vector<int> path = path_to_small(from, sizes);
      const auto above = [&](int one) {
        return std::ssize(members(one)) - sizes[static_cast<std::size_t>(one)];
      };
      // One search of a path serves all vertices that its end has room for.
      for (auto left = std::min(above(from), -above(path.back())); left > 0; --left) {
        // From the end, so that no group on the way ever has one more.
        for (std::size_t step = path.size() - 1; step > 0; --step)
          shift(path[step - 1], path[step]);
      }
    }
  }
}

/// The groups from one that is too large to the nearest one that is too small.
std::vector<int> Refinement::path_to_small(int from, const std::vector<int>& sizes) {
  const auto is_small = [&](int one) {
    return std::ssize(members(one)) < sizes[static_cast<std::size_t>(one)];
  };
  std::vector<int> queue{from};
  std::vector<int> via(members_.size(), -1);
  via[static_cast<std::size_t>(from)] = from;
  for (std::size_t at = 0; at < queue.size(); ++at) {
    for (const int next : neighbours_of(queue[at])) {
      int& before = via[static_cast<std::size_t>(next)];
      if (before >= 0) continue;
      before = queue[at];
      queue.push_back(next);
      if (!is_small(next)) continue;
      std::vector<int> path{next};
      while (path.back() != from) path.push_back(via[static_cast<std::size_t>(path.back())]);
      std::ranges::reverse(path);
      return path;
    }
  }
  // No edges lead to a group that is too small.
  int last = 0;
  while (!is_small(last)) ++last;
  return {from, last};
}

/// Moves the vertex at the least loss.
void Refinement::shift(int from, int to) {
  std::int64_t best = std::numeric_limits<std::int64_t>::min();
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < members(from).size(); ++i) {
    std::int64_t gain = 0;
    for (const Neighbour& one : adjacency_->of(members(from)[i])) {
      const int at = group(one.vertex);
      if (at == from)
        gain -= one.weight;
      else if (at == to)
        gain += one.weight;
    }
    if (gain <= best) continue;
    best = gain;
    chosen = i;
  }
  const int vertex = members(from)[chosen];
  members(from).erase(members(from).begin() + static_cast<std::ptrdiff_t>(chosen));
  members(to).push_back(vertex);
  group(vertex) = to;
}

}  // namespace strake::placement
