#include "interpose/distributed_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
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

[[nodiscard]] int weight_at(const int* weights, int i) noexcept {
  return is_weighted(weights) && weights != nullptr ? weights[i] : 1;
}

/// The edges of all ranks, on the first one. Nothing, on all ranks: there are too many to gather.
std::optional<Words> gather(MPI_Comm comm, const Words& own, std::size_t ranks) {
  const mpi::RealMpi& real = real_mpi();
  std::int64_t total = static_cast<std::int64_t>(own.size());
  mpi::check(real.MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT64_T, MPI_SUM, comm),
             "MPI_Allreduce");
  if (total > std::numeric_limits<int>::max()) return std::nullopt;
  const auto count = static_cast<int>(own.size());
  std::vector<int> counts(ranks);
  mpi::check(real.MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm), "MPI_Gather");
  std::vector<int> begins(ranks);
  for (std::size_t rank = 1; rank < ranks; ++rank)
    begins[rank] = begins[rank - 1] + counts[rank - 1];
  int rank = 0;
  real.MPI_Comm_rank(comm, &rank);
  Words all(rank == 0 ? static_cast<std::size_t>(total) : 0);
  mpi::check(real.MPI_Gatherv(own.data(), count, MPI_INT, all.data(), counts.data(), begins.data(),
                              MPI_INT, 0, comm),
             "MPI_Gatherv");
  return all;
}

/// How often the two ends of each edge name it.
struct Named {
  int by_sender = 0;
  int by_receiver = 0;
};

/// The graph of the edges that senders name. \throws InvalidArgument  receivers name others
placement::Graph graph_of_senders(const Words& all, std::size_t ranks, bool both) {
  placement::Graph made{static_cast<int>(ranks), {}};
  std::map<std::pair<int, int>, Named> edges;
  for (std::size_t at = 0; at < all.size(); at += kWords) {
    const bool by_sender = all[at + 3] != 0;
    if (by_sender) made.edges.push_back({all[at], all[at + 1], all[at + 2]});
    if (!both) continue;
    Named& named = edges[{all[at], all[at + 1]}];
    ++(by_sender ? named.by_sender : named.by_receiver);
  }
  for (const auto& [edge, named] : edges)
    if (named.by_sender != named.by_receiver)
      throw InvalidArgument(
          fmt::format("rank {} names {} edges to rank {}, which names {} edges from there",
                      edge.first, named.by_sender, edge.second, named.by_receiver));
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
    for (int j = 0; j < degree; ++j, ++next)
      to.add({own.sources[i], own.destinations[next], weight_at(own.weights, next)}, true);
  }
}

void collect(Collector& to, const Adjacency& own) {
  for (const Adjacent* side : {&own.in, &own.out})
    if (side->count < 0 || (side->count > 0 && side->ranks == nullptr))
      return to.fail(fmt::format("{} neighbours, of a list {}", side->count,
                                 side->ranks == nullptr ? "that is a null pointer" : "of ranks"));
  for (int i = 0; i < own.in.count; ++i)
    to.add({own.in.ranks[i], to.rank(), weight_at(own.in.weights, i)}, false);
  for (int i = 0; i < own.out.count; ++i)
    to.add({to.rank(), own.out.ranks[i], weight_at(own.out.weights, i)}, true);
}

/// \param both  both ends of an edge name it
template <typename Own>
std::vector<int> order(MPI_Comm comm, const std::vector<int>& node_of, const Own& own, bool both) {
  Collector collector(comm, node_of.size());
  collect(collector, own);
  mpi::agree(comm, collector.fault());
  const std::optional<Words> all = gather(comm, collector.words(), node_of.size());
  if (!all) return {};
  const auto make = [&](const std::vector<int>& nodes) {
    return wanted_graph(graph_of_senders(*all, nodes.size(), both), nodes);
  };
  return agreed_ordering(comm, make, node_of);
}

}  // namespace

std::vector<int> order_distributed(MPI_Comm comm, const std::vector<int>& node_of,
                                   const NamedEdges& own) {
  return order(comm, node_of, own, false);
}

std::vector<int> order_adjacent(MPI_Comm comm, const std::vector<int>& node_of,
                                const Adjacency& own) {
  return order(comm, node_of, own, true);
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
