/// \file  The other end of a message, and whether the MPI library would accept it.
#pragma once

#include <mpi.h>

namespace strake::mpi {

/// The other end of a message.
struct Peer {
  int rank = MPI_PROC_NULL;
  int tag = 0;
  MPI_Comm comm = MPI_COMM_NULL;
};

/// Whether it is an intercommunicator. \throws MpiError  it is none at all, which the system has
/// raised; with the code that the system returned, which is MPI_SUCCESS since MPICH 4.3 where an
/// error handler of the application's has returned.
[[nodiscard]] bool is_inter(MPI_Comm comm);
/// False where the system would refuse rank or tag: then it must be asked at once. \throws MpiError
/// as is_inter().
[[nodiscard]] bool sendable(const Peer& peer);

}  // namespace strake::mpi
