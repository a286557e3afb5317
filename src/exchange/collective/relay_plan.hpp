/// \file  Which blocks of the calls of neighbours on one communicator relays carry between nodes:
/// for a pair of nodes with many of them, an agent on the one joins the bundles of its node's
/// ranks, and an agent on the other splits what it gets among its own (decision 28). All ranks plan
/// alike.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mpi/neighbours.hpp"

namespace strake::exchange {

/// So many blocks of each call go from one rank to another, which is on another node.
struct FarEdges {
  int from = 0;
  int to = 0;
  int edges = 0;
};

/// One rank's part of all relays. Ranks are those of the communicator; nodes are numbered by their
/// first ranks.
struct RelayPlan {
  /// Blocks of this rank to another node, or from there.
  struct Share {
    int node = 0;   ///< the other one
    int agent = 0;  ///< of this rank's node
    int edges = 0;
    int senders = 1;  ///< of these blocks
  };
  /// One of the node's ranks that an agent gets a bundle from, or gives one.
  struct Part {
    int rank = 0;
    int edges = 0;
    int senders = 1;
  };
  /// This rank is the agent of its node for another one.
  struct Duty {
    int node = 0;
    int partner = 0;  ///< the agent there
    int edges = 0;
    int senders = 0;
    std::vector<Part> parts;
  };
  std::vector<int> node_of;  ///< by rank
  std::vector<Share> gives, gets;
  std::vector<Duty> sends, delivers;

  /// Whether relays carry this rank's blocks to, or from, a rank.
  [[nodiscard]] const Share* share_to(int rank) const noexcept { return find(gives, rank); }
  [[nodiscard]] const Share* share_from(int rank) const noexcept { return find(gets, rank); }
  /// The ranks of this node that this one has to do with, itself perhaps among them. Each of them
  /// has this one in its own list.
  [[nodiscard]] std::vector<int> partners_here() const;

 private:
  [[nodiscard]] const Share* find(const std::vector<Share>& shares, int rank) const noexcept;
};

/// The plan of rank `own`; nothing: relays carry none of the blocks of any rank. `node_of`: by
/// rank.
[[nodiscard]] std::optional<RelayPlan> plan_relays(int own, std::vector<int> node_of,
                                                   std::span<const FarEdges> all);
/// Learns all ranks' edges, and plans. Collective over the communicator. \throws MpiError
[[nodiscard]] std::optional<RelayPlan> learn_relays(MPI_Comm comm, int own, int size,
                                                    const mpi::Neighbours& neighbours);

}  // namespace strake::exchange
