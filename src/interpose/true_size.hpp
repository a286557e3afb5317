/// \file  What a probe tells of a message by shared memory, of which only an envelope was sent.
#pragma once

#include <mpi.h>

namespace strake::interpose {

/// A probe on `comm` has told by `status` of a message of an envelope's size: makes it tell the
/// true size. `matched`: the probe has matched it.
void tell_true_size(MPI_Status& status, MPI_Comm comm, bool matched);

}  // namespace strake::interpose
