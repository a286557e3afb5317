/// \file  Messages to ranks that do not know of them. Source: Hoefler, Siebert, Lumsdaine (2010),
/// "Scalable Communication Protocols for Dynamic Sparse Data Exchange" (the NBX algorithm).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <vector>

namespace strake::mpi {

/// Numbers for a rank, or from one, by rank.
using NumbersByRank = std::map<int, std::vector<std::int64_t>>;

/// Sends each of `to` to its rank. Collective over `comm`. Costs a message for each rank in `to`,
/// and a barrier. \param tag  another one than in the call before
/// \returns what this rank got
/// \throws MpiError; InvalidArgument  more than 2^31 - 1 numbers for one rank
[[nodiscard]] NumbersByRank sparse_exchange(MPI_Comm comm, int tag, const NumbersByRank& to);

}  // namespace strake::mpi
