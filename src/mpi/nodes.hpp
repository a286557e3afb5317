/// \file  Which ranks of the job are on one node: the job's table, which all ranks have alike.
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
[[nodiscard]] bool learn_nodes() noexcept;
/// The node of each rank of MPI_COMM_WORLD, numbered from 0 on in the order of their first ranks.
/// Empty: there is no table.
[[nodiscard]] const std::vector<int>& world_nodes() noexcept;
/// The node of each rank of a communicator, numbered by its own ranks. Local. Empty: the table is,
/// or a rank is of another job. \throws MpiError
[[nodiscard]] std::vector<int> nodes_of(MPI_Comm comm);

}  // namespace strake::mpi
