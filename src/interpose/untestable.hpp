/// \file  Requests of the program that MPICH's MPI_Testall must not be given repeatedly
/// (mpi::quirks::kTestallRepeatsBadly).
#pragma once

#include <mpi.h>

#include <cstdint>

#include "interpose/request_table.hpp"

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
void forget_untestable(MPI_Request request) noexcept;
/// Returns what is remembered of the request. Its handle may by now be that of another request, if
/// it was a file's and is complete.
[[nodiscard]] Untestable how_untestable(const RequestEntry& entry) noexcept;

}  // namespace strake::interpose
