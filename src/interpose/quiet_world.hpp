/// \file  Asking about requests without raising their errors.
#pragma once

#include <mpi.h>

#include "mpi/quirks.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/world.hpp"

namespace strake::interpose {

/// MPICH raises the error of a failed request where it is merely asked about: on MPI_COMM_SELF
/// where that was given a handler, if only its own (5.0), else on MPI_COMM_WORLD. The call that
/// completes the application's request raises it properly; until then it must not be fatal. (Not
/// with MPI_THREAD_MULTIPLE, where other threads would see it: an operation then completes the
/// request instead of asking about it.)
class QuietWorld {
 public:
  QuietWorld() noexcept {
    if (!mpi::quirks::kAskingRaises || mpi::g_multiple || !mpi::in_world()) return;
    for (int i = 0; i < 2; ++i) {
      real_.MPI_Comm_get_errhandler(comms_[i], &handlers_[i]);
      if (is_set(i)) real_.MPI_Comm_set_errhandler(comms_[i], MPI_ERRORS_RETURN);
    }
  }
  ~QuietWorld() {
    if (handlers_[0] == MPI_ERRHANDLER_NULL) return;
    for (int i = 0; i < 2; ++i) {
      if (is_set(i)) real_.MPI_Comm_set_errhandler(comms_[i], handlers_[i]);
      real_.MPI_Errhandler_free(&handlers_[i]);
    }
  }
  QuietWorld(const QuietWorld&) = delete;
  QuietWorld& operator=(const QuietWorld&) = delete;

 private:
  /// MPI_ERRORS_ARE_FATAL is what MPI_COMM_SELF has while it was given none.
  [[nodiscard]] bool is_set(int i) const noexcept {
    return comms_[i] == MPI_COMM_WORLD || handlers_[i] != MPI_ERRORS_ARE_FATAL;
  }
  const mpi::RealMpi& real_ = mpi::real_mpi();
  const MPI_Comm comms_[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  MPI_Errhandler handlers_[2] = {MPI_ERRHANDLER_NULL, MPI_ERRHANDLER_NULL};
};

}  // namespace strake::interpose
