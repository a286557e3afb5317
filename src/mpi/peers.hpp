/// \file  The other end of a message, and whether the MPI library would accept it.
#pragma once

#include <mpi.h>

namespace strake::mpi {

/// A message's envelope as one end gives it: the rank of the other end, tag, communicator.
struct Envelope {
  int rank = MPI_PROC_NULL;
  int tag = 0;
  MPI_Comm comm = MPI_COMM_NULL;
};

/// Whether `comm` is an intercommunicator.
/// \throws MpiError  `comm` is no communicator. The MPI library has raised that error already. The
/// code is the one that the MPI library returned: MPI_SUCCESS with MPICH since 4.3, if an error
/// handler of the application has returned.
[[nodiscard]] bool is_inter(MPI_Comm comm);
/// False if the MPI library would refuse rank or tag: then pass the call on at once.
/// \throws MpiError  as is_inter().
[[nodiscard]] bool sendable(const Envelope& peer);

}  // namespace strake::mpi
