/// \file  Messages of the stub in loop-back mode: what a rank sends, it receives itself.
#pragma once

#include <mpi.h>

namespace bench::stub {

void post(const void* buffer, MPI_Count count, MPI_Datatype type, int tag);
/// Bytes of the oldest message of that tag, now in the buffer; -1: there is none.
MPI_Count take(void* buffer, MPI_Count count, MPI_Datatype type, int tag);

}  // namespace bench::stub
