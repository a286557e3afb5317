/// \file  Which of the program's requests MPICH's MPI_Testall can't be given again and again.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace strake::interpose {

enum class Untestable : std::uint8_t {
  No,
  /// Partitioned ones and persistent collectives: it fails (4.0 and 5.0) on one that is complete
  /// beside one that is not.
  Beside,
  /// Those of files: it completes (4.0) one that is complete once more.
  Again,
};

/// Does nothing with Open MPI, or where no memory is left for it.
void remember_untestable(MPI_Request request, Untestable how) noexcept;
/// Nothing where it was none. ~1 ns in a program that makes none.
void forget_untestable(MPI_Request request);
/// Another request may have the handle of an earlier one of a file.
[[nodiscard]] Untestable untestable(MPI_Request request);

}  // namespace strake::interpose
