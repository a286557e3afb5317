#include "interpose/distributed_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "interpose/ordered_ranks.hpp"
#include "mpi/agree.hpp"
#include "mpi/real_mpi.hpp"
#include "strake/error.hpp"

namespace strake::interpose {
namespace {

using mpi::real_mpi;
using placement::Edge;

/// Edges of one rank, as they travel: from, to, weight, and whether the sender named it.
constexpr std::size_t kWords = 4;
using Words = std::vector<int>;

/// Collects the edges that this rank names, or the first fault in them.
class Collector {
 public:
  Collector(MPI_Comm comm, std::size_t ranks) : ranks_(static_cast<int>(ranks)) {
    mpi::check(real_mpi().MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
  }
  struct NamedEdge {
    int from;
    int to;
    int weight;
  };
  void add(const NamedEdge& edge, bool by_sender) {
    const auto [from, to, weight] = edge;
    // MPI libraries take neighbours that there are not; nothing is sent there.
    if (from == MPI_PROC_NULL || to == MPI_PROC_NULL) return;
    for (const int end : {from, to})
      if (end < 0 || end >= ranks_)
        return fail(fmt::format("an edge from {} to {}, of {} ranks", from, to, ranks_));
    if (weight < 0)
      return fail(fmt::format("an edge from {} to {} of weight {}", from, to, weight));
    words_.insert(words_.end(), {from, to, weight, by_sender ? 1 : 0});
  }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  void fail(const std::string& what) {
    if (fault_.empty()) fault_ = fmt::format("rank {} names {}", rank_, what);
  }
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
  [[nodiscard]] const Words& words() const noexcept { return words_; }

 private:
  int ranks_;
  int rank_ = 0;
  std::string fault_;
  Words words_;
};

[[nodiscard]] bool is_weighted(const int* weights) noexcept {
  return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
}

/// Whether there are no weights where a call needs some.
[[nodiscard]] bool lacks_weights(const int* weights, int edges) noexcept {
  return edges > 0 && (weights == nullptr || weights == MPI_WEIGHTS_EMPTY);
}
[[nodiscard]] int weight_at(const int* weights, int i) noexcept {
  return is_weighted(weights) ? weights[i] : 1;
}

/// The edges of all ranks, on the first one. Nothing, on all ranks: there are too many to gather.
/// \throws OutOfMemory  on all ranks
std::optional<Words> gather(MPI_Comm comm, const Words& own, std::size_t ranks) {
  const mpi::RealMpi& real = real_mpi();
  std::int64_t total = static_cast<std::int64_t>(own.size());
  mpi::check(real.MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT64_T, MPI_SUM, comm),
             "MPI_Allreduce");
  constexpr std::int64_t kMostWords = 1 << 28;  // 1 GiB
  if (total > kMostWords) return std::nullopt;
  const bool is_first = rank_in(comm) == 0;
  Words all;
  std::vector<int> counts(is_first ? ranks : 0);
  std::string fault;
  try {
    if (is_first) all.resize(static_cast<std::size_t>(total));
  } catch (const std::bad_alloc&) {
    fault = fmt::format("rank 0 has no memory for a graph of {} edges", total / kWords);
  }
  mpi::agree(comm, fault, ErrorCode::OutOfMemory);
  const auto count = static_cast<int>(own.size());
  mpi::check(real.MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm), "MPI_Gather");
  std::vector<int> begins(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), 0);
  mpi::check(real.MPI_Gatherv(own.data(), count, MPI_INT, all.data(), counts.data(), begins.data(),
                              MPI_INT, 0, comm),
             "MPI_Gatherv");
  return all;
}

/// \throws InvalidArgument  an edge that its two ends name a different number of times
void require_both_ends(const Words& all) {
  struct Names {
    int from;
    int to;
    int by_sender;
    int by_receiver;
  };
  std::vector<Names> names;
  for (std::size_t at = 0; at < all.size(); at += kWords)
    names.push_back({all[at], all[at + 1], all[at + 3], 1 - all[at + 3]});
  const auto edge_of = [](const Names& one) { return std::pair(one.from, one.to); };
  std::ranges::sort(names, {}, edge_of);
  for (auto next = names.begin(); next != names.end();) {
    Names sum = *next++;
    for (; next != names.end() && edge_of(*next) == edge_of(sum); ++next) {
      sum.by_sender += next->by_sender;
      sum.by_receiver += next->by_receiver;
    }
    if (sum.by_sender != sum.by_receiver)
      throw InvalidArgument(
          fmt::format("rank {} names {} edges to rank {}, which names {} edges from there",
                      sum.from, sum.by_sender, sum.to, sum.by_receiver));
  }
}

/// The graph of the edges that senders name.
placement::Graph graph_of_senders(const Words& all, std::size_t ranks) {
  placement::Graph made{static_cast<int>(ranks), {}};
  for (std::size_t at = 0; at < all.size(); at += kWords)
    if (all[at + 3] != 0) made.edges.push_back({all[at], all[at + 1], all[at + 2]});
  return made;
}

void collect(Collector& to, const NamedEdges& own) {
  if (own.n < 0) return to.fail(fmt::format("{} sources", own.n));
  if (own.n > 0 && (own.sources == nullptr || own.degrees == nullptr))
    return to.fail(fmt::format("{} sources by a null pointer", own.n));
  for (int i = 0, next = 0; i < own.n; ++i) {
    const int degree = own.degrees[i];
    if (degree < 0 || (degree > 0 && own.destinations == nullptr))
      return to.fail(fmt::format("{} edges from {}", degree, own.sources[i]));
    if (lacks_weights(own.weights, degree))
      return to.fail(fmt::format("{} edges from {} without weights", degree, own.sources[i]));
    for (int j = 0; j < degree; ++j, ++next)
      to.add({own.sources[i], own.destinations[next], weight_at(own.weights, next)}, true);
  }
}

void collect(Collector& to, const Adjacency& own) {
  for (const Adjacent* side : {&own.in, &own.out})
    if (side->count < 0 || (side->count > 0 && side->ranks == nullptr))
      return to.fail(fmt::format("{} neighbours, of a list {}", side->count,
                                 side->ranks == nullptr ? "that is a null pointer" : "of ranks"));
  for (const Adjacent* side : {&own.in, &own.out})
    if (lacks_weights(side->weights, side->count))
      return to.fail(fmt::format("{} neighbours without weights", side->count));
  for (int i = 0; i < own.in.count; ++i)
    to.add({own.in.ranks[i], to.rank(), weight_at(own.in.weights, i)}, false);
  for (int i = 0; i < own.out.count; ++i)
    to.add({to.rank(), own.out.ranks[i], weight_at(own.out.weights, i)}, true);
}

/// \param both  both ends of an edge name it
template <typename Own>
std::vector<int> order(MPI_Comm comm, const placement::Homes& homes, const Own& own, bool both) {
  Collector collector(comm, homes.node_of.size());
  collect(collector, own);
  mpi::agree(comm, collector.fault());
  const std::optional<Words> all = gather(comm, collector.words(), homes.node_of.size());
  if (!all) return {};
  const auto make = [&](std::size_t ranks) {
    if (both) require_both_ends(*all);
    return Wanted{graph_of_senders(*all, ranks), {}};
  };
  return agreed_ordering(comm, make, homes);
}

}  // namespace

std::vector<int> order_distributed(MPI_Comm comm, const placement::Homes& homes,
                                   const NamedEdges& own) {
  return order(comm, homes, own, false);
}

std::vector<int> order_adjacent(MPI_Comm comm, const placement::Homes& homes,
                                const Adjacency& own) {
  return order(comm, homes, own, true);
}

MovedAdjacency::MovedAdjacency(MPI_Comm ordered, int rank, const Adjacency& own,
                               const std::vector<int>& vertex_of) {
  // The rank that was `to` names the vertex that this one becomes, and this one names that of
  // the rank that becomes vertex `rank`.
  const int becomes = vertex_of[static_cast<std::size_t>(rank)];
  const int from = vertex_of[static_cast<std::size_t>(becomes)];
  const std::array<int, 4> lengths = {own.in.count, own.out.count, own.in.weights != MPI_UNWEIGHTED,
                                      own.out.weights != MPI_UNWEIGHTED};
  std::array<int, 4> theirs{};
  const auto swap = [&](const int* mine, int count, int* there, int more) {
    mpi::check(real_mpi().MPI_Sendrecv(mine, count, MPI_INT, rank, 0, there, more, MPI_INT, from, 0,
                                       ordered, MPI_STATUS_IGNORE),
               "MPI_Sendrecv");
  };
  swap(lengths.data(), 4, theirs.data(), 4);
  const auto swap_list = [&](const Adjacent& mine, List& list, int count, bool weighted) {
    list.weighted = weighted;
    list.ranks.resize(static_cast<std::size_t>(count));
    swap(mine.ranks, mine.count, list.ranks.data(), count);
    const bool has_weights = is_weighted(mine.weights) && mine.count > 0;
    list.weights.resize(weighted ? list.ranks.size() : 0);
    swap(mine.weights, has_weights ? mine.count : 0, list.weights.data(),
         static_cast<int>(list.weights.size()));
  };
  swap_list(own.in, in_, theirs[0], theirs[2] != 0);
  swap_list(own.out, out_, theirs[1], theirs[3] != 0);
}

Adjacent MovedAdjacency::List::get() const noexcept {
  const int* const named = weights.empty() ? MPI_WEIGHTS_EMPTY : weights.data();
  return {static_cast<int>(ranks.size()), ranks.data(), weighted ? named : MPI_UNWEIGHTED};
}

Adjacency MovedAdjacency::get() const noexcept { return {in_.get(), out_.get()}; }

}  // namespace strake::interpose
