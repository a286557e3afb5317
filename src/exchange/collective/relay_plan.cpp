#include "exchange/collective/relay_plan.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "mpi/nodes.hpp"
#include "mpi/real_mpi.hpp"

namespace strake::exchange {
namespace {

/// Blocks between two nodes for which there are agents: fewer messages than these cost less than
/// the two more steps that relays take.
constexpr int kFewestEdges = 4;
/// More pairs of ranks are not told to all ranks: they would take 8 MiB.
constexpr std::int64_t kMostPairs = 1 << 20;

/// The blocks from one node to another.
struct NodePair {
  int edges = 0;
  std::map<int, int> from;                          ///< edges by rank
  std::map<int, std::pair<int, std::set<int>>> to;  ///< edges and senders by rank

  [[nodiscard]] bool relayed() const noexcept {
    return edges >= kFewestEdges && (from.size() > 1 || to.size() > 1);
  }
};

}  // namespace

const RelayPlan::Share* RelayPlan::find(const std::vector<Share>& shares, int rank) const noexcept {
  const int node = node_of[static_cast<std::size_t>(rank)];
  for (const Share& share : shares)
    if (share.node == node) return &share;
  return nullptr;
}

std::vector<int> RelayPlan::partners_here() const {
  std::set<int> ranks;
  for (const auto* const shares : {&gives, &gets})
    for (const Share& share : *shares) ranks.insert(share.agent);
  for (const auto* const duties : {&sends, &delivers})
    for (const Duty& duty : *duties)
      for (const Part& part : duty.parts) ranks.insert(part.rank);
  return {ranks.begin(), ranks.end()};
}

std::optional<RelayPlan> plan_relays(int own, std::vector<int> node_of,
                                     std::span<const FarEdges> all) {
  const auto node = [&](int rank) { return node_of[static_cast<std::size_t>(rank)]; };
  std::map<std::pair<int, int>, NodePair> pairs;
  for (const auto& [from, to, edges] : all) {
    NodePair& pair = pairs[{node(from), node(to)}];
    pair.edges += edges;
    pair.from[from] += edges;
    auto& [edges_to, senders] = pair.to[to];
    edges_to += edges;
    senders.insert(from);
  }
  std::map<int, std::vector<int>> members;
  for (std::size_t rank = 0; rank < node_of.size(); ++rank)
    members[node_of[rank]].push_back(static_cast<int>(rank));
  // Pairs of nodes are spread over the ranks of each.
  const auto agent = [&](int of, int other) {
    const std::vector<int>& ranks = members[of];
    return ranks[static_cast<std::size_t>(other) % ranks.size()];
  };
  RelayPlan plan;
  bool some = false;
  for (const auto& [nodes, pair] : pairs) {
    if (!pair.relayed()) continue;
    some = true;
    const auto [first, second] = nodes;
    const int sender = agent(first, second);
    const int receiver = agent(second, first);
    const int senders = static_cast<int>(pair.from.size());
    if (const auto mine = pair.from.find(own); mine != pair.from.end())
      plan.gives.push_back({second, sender, mine->second, 1});
    if (const auto mine = pair.to.find(own); mine != pair.to.end())
      plan.gets.push_back(
          {first, receiver, mine->second.first, static_cast<int>(mine->second.second.size())});
    if (own == sender) {
      RelayPlan::Duty& duty =
          plan.sends.emplace_back(RelayPlan::Duty{second, receiver, pair.edges, senders, {}});
      for (const auto& [rank, edges] : pair.from) duty.parts.push_back({rank, edges, 1});
    }
    if (own == receiver) {
      RelayPlan::Duty& duty =
          plan.delivers.emplace_back(RelayPlan::Duty{first, sender, pair.edges, senders, {}});
      for (const auto& [rank, part] : pair.to)
        duty.parts.push_back({rank, part.first, static_cast<int>(part.second.size())});
    }
  }
  if (!some) return std::nullopt;
  plan.node_of = std::move(node_of);
  return plan;
}

std::optional<RelayPlan> learn_relays(MPI_Comm comm, int own, int size,
                                      const mpi::Neighbours& neighbours) {
  constexpr int kFewestRanks = 3;
  if (size < kFewestRanks) return std::nullopt;
  const mpi::RealMpi& real = mpi::real_mpi();
  std::vector<int> node_of = mpi::nodes_of(comm);
  const auto node = [&](int rank) { return node_of[static_cast<std::size_t>(rank)]; };
  if (std::set<int>(node_of.begin(), node_of.end()).size() < 2) return std::nullopt;

  std::map<int, int> far;
  for (const int to : neighbours.destinations)
    if (to != MPI_PROC_NULL && node(to) != node(own)) ++far[to];
  std::vector<int> mine;  // rank, edges
  for (const auto& [to, edges] : far) mine.insert(mine.end(), {to, edges});
  const auto length = static_cast<int>(mine.size());
  std::vector<int> lengths(node_of.size());
  mpi::check(real.MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm),
             "MPI_Allgather");
  std::vector<int> begins(lengths.size());
  std::int64_t total = 0;
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    begins[rank] = static_cast<int>(total);
    total += lengths[rank];
    if (total > 2 * kMostPairs) return std::nullopt;
  }
  std::vector<int> told(static_cast<std::size_t>(total));
  mpi::check(real.MPI_Allgatherv(mine.data(), length, MPI_INT, told.data(), lengths.data(),
                                 begins.data(), MPI_INT, comm),
             "MPI_Allgatherv");
  std::vector<FarEdges> all;
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    const int* const of_rank = told.data() + begins[rank];
    for (int i = 0; i < lengths[rank]; i += 2)
      all.push_back({static_cast<int>(rank), of_rank[i], of_rank[i + 1]});
  }
  return plan_relays(own, std::move(node_of), all);
}

}  // namespace strake::exchange
