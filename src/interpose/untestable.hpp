/// \file  Which of the program's requests are partitioned ones or persistent collectives: MPICH's
/// MPI_Testall (4.0 and 5.0) fails on one that is complete beside one that is not.
#pragma once

#include <mpi.h>

namespace strake::interpose {

/// Does nothing with Open MPI, or where no memory is left for it.
void remember_untestable(MPI_Request request) noexcept;
/// Nothing where it was none. ~1 ns in a program that makes none.
void forget_untestable(MPI_Request request);
[[nodiscard]] bool is_untestable(MPI_Request request);

}  // namespace strake::interpose
