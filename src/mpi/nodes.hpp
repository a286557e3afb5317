/// \file  Which ranks of the job are on one node, and on one island of it (machine/islands.hpp):
/// the job's table, which all ranks have alike.
#pragma once

#include <mpi.h>

#include <map>
#include <vector>

namespace strake::mpi {

/// Numbers from 0 on, in the order in which values come first.
template <typename Value>
[[nodiscard]] std::vector<int> numbered(const std::vector<Value>& values) {
  std::map<Value, int> known;
  std::vector<int> numbers;
  numbers.reserve(values.size());
  for (const Value& value : values)
    numbers.push_back(known.try_emplace(value, static_cast<int>(known.size())).first->second);
  return numbers;
}

/// In MPI_Init, of all ranks of MPI_COMM_WORLD: learns the table. False: there is none. Nodes are
/// told apart by host name and start of the kernel, and by STRAKE_RANKS_PER_NODE. If two nodes
/// seemed one, Strake would choose worse ways, and no more.
/// \param island  this rank's within its node; negative: it is on several
[[nodiscard]] bool learn_nodes(int island) noexcept;
/// Whether the job has several nodes, or a node several islands.
[[nodiscard]] bool world_has_several() noexcept;
/// The node of each rank of a communicator, numbered by its own ranks. Local. Empty: there is no
/// table, or a rank is of another job. \throws MpiError
[[nodiscard]] std::vector<int> nodes_of(MPI_Comm comm);
/// The island of each rank, numbered from 0 on through all nodes. Local. Empty: as nodes_of(), or
/// no node has ranks of `comm` on several. \throws MpiError
[[nodiscard]] std::vector<int> islands_of(MPI_Comm comm);

/// Islands numbered through all nodes, from those within each node. A node has one where a rank is
/// on several of its islands. Empty: no node has several.
[[nodiscard]] std::vector<int> numbered_islands(const std::vector<int>& node_of,
                                                std::vector<int> island_of);

}  // namespace strake::mpi
