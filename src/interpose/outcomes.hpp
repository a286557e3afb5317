/// \file  The end of operations (interpose/operation.hpp), once the MPI library's call has
/// completed their requests: their statuses, and their errors, raised where they belong.
#pragma once

#include <mpi.h>

#include "interpose/requests.hpp"

namespace strake::interpose {

/// After the MPI library's call, which gave `code`, completed the operation's request: puts the
/// status, raises what went wrong, and returns the code of it all.
int finish_one(Operation& operation, MPI_Status* status, int code);
/// finish_one() for each operation of a call that completed all or some of its requests.
/// `statuses[i]` belongs to `operations[i]`, which may be null.
int finish_many(const Operations& operations, MPI_Status* statuses, int code);

}  // namespace strake::interpose
