/// \file  The neighbours of a rank in a communicator with a topology, and in which order the MPI
/// library matches the messages between two ranks that are neighbours more than once.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace strake::mpi {

/// Ranks of the communicator, or MPI_PROC_NULL, in the order of a call's blocks.
struct Neighbours {
  std::vector<int> sources;
  std::vector<int> destinations;
  bool cartesian = false;
};
/// Nothing where the communicator has no topology. Asks the MPI library, locally.
/// \throws MpiError
[[nodiscard]] std::optional<Neighbours> neighbours_of(MPI_Comm comm);

/// Which of several blocks from one rank to another goes to which block there. MPI_PROC_NULL has
/// none.
enum class Matching : std::uint8_t {
  InOrder,      ///< the first one to the first one
  Reversed,     ///< the first one to the last one
  ByDirection,  ///< what goes down in a dimension comes from above (MPI 4.0, 8.6)
  Unknown,
};
/// The functions that match alike.
enum class Neighbourhood : std::uint8_t { Alltoall, Alltoallv, Alltoallw };
/// How a call is made.
enum class CallForm : std::uint8_t { Blocking, Nonblocking, Persistent };
/// Measured at its first use, on MPI_COMM_SELF: libraries differ, and versions of one do.
/// Persistent calls match as nonblocking ones: MPICH 4.0's may hang, and so are not tried here.
[[nodiscard]] Matching matching(Neighbourhood function, CallForm form, bool cartesian);

/// A message of a call: one of its blocks, and the other rank. Both ends give it the same number,
/// which no other message from the one to the other in that call has.
struct Edge {
  std::size_t block = 0;
  int rank = MPI_PROC_NULL;
  std::uint32_t number = 0;
};
/// By their numbers, none to or from MPI_PROC_NULL.
struct Edges {
  std::vector<Edge> sends;
  std::vector<Edge> receives;
};
[[nodiscard]] Edges edges_of(const Neighbours& neighbours, Matching matching);

}  // namespace strake::mpi
