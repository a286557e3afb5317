/// \file  Strake's own calls of the whole job in MPI_Finalize: the summary, and the recorded graph.
#pragma once

#include <mpi.h>

#include "mpi/real_mpi.hpp"

namespace strake::interpose {

/// While it lives, errors on MPI_COMM_WORLD are codes: the calls are none of the program's.
class QuietErrors {
 public:
  QuietErrors() {
    mpi::real_mpi().MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler_);
    mpi::real_mpi().MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  ~QuietErrors() {
    mpi::real_mpi().MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler_);
    mpi::real_mpi().MPI_Errhandler_free(&handler_);
  }
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;

 private:
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

/// A communicator for these calls: the program's messages may lie unreceived in the others. By a
/// split, which copies none of the program's attributes.
class OwnWorld {
 public:
  explicit OwnWorld(int rank) {
    mpi::check(mpi::real_mpi().MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm_), "MPI_Comm_split");
    mpi::real_mpi().MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  ~OwnWorld() { mpi::real_mpi().MPI_Comm_free(&comm_); }
  OwnWorld(const OwnWorld&) = delete;
  OwnWorld& operator=(const OwnWorld&) = delete;
  [[nodiscard]] MPI_Comm get() const noexcept { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// Whether rank 0, and so the job, wants something. Collective.
[[nodiscard]] inline bool wanted_by_job(bool here) {
  int wanted = here ? 1 : 0;
  mpi::check(mpi::real_mpi().MPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
  return wanted != 0;
}

}  // namespace strake::interpose
