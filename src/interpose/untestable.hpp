/// \file  Requests of the program that MPICH's MPI_Testall must not be given repeatedly
/// (mpi::quirks::kTestallRepeatsBadly).
#pragma once

#include <mpi.h>

#include <cstdint>

namespace strake::interpose {

enum class Untestable : std::uint8_t {
  No,
  /// Partitioned requests and persistent collectives. MPICH 4.0 to 5.0: MPI_Testall fails if one of
  /// them is complete and another is not.
  Beside,
  /// Requests of files. MPICH 4.0: MPI_Testall completes a finished one a second time.
  Again,
};

/// Does nothing with Open MPI, or if no memory is left.
void remember_untestable(MPI_Request request, Untestable how) noexcept;
/// Does nothing if the request is not remembered. ~1 ns in a program that has no such requests.
void forget_untestable(MPI_Request request);
/// What is remembered of the handle. It may by now be the handle of another request, if that of a
/// file was freed.
[[nodiscard]] Untestable untestable(MPI_Request request);

}  // namespace strake::interpose
