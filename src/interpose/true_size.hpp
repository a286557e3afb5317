/// \file  Probes of messages by shared memory: MPI has only the header message, whose size a probe
/// must not tell.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "mpi/communicators.hpp"

namespace strake::interpose {

/// A probe on `comm` has told by `status` of a message of a header message's size: makes it tell
/// the true size. `matched`: the probe has matched it.
void tell_true_size(MPI_Status& status, MPI_Comm comm, bool matched);
/// Looks at what receives have got that are not completed yet: messages from rank `from` of
/// MPI_COMM_WORLD that are there, of a header message's size, are no longer the next on `comm`.
void see_received(std::int32_t from, const mpi::CommunicatorPtr& comm);

}  // namespace strake::interpose
