/// \file  Which ranks of the job are on one node: the job's table, which all ranks have alike.
#pragma once

#include <mpi.h>

#include <vector>

namespace strake::mpi {

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
