/// \file  What every part must know of the process's MPI: whether there is an MPI_COMM_WORLD, and
/// whether several threads are in MPI at a time.
#pragma once

#include <atomic>

namespace strake::mpi {

/// Whether there is an MPI_COMM_WORLD: not in a program that uses sessions alone, or still.
[[nodiscard]] bool in_world() noexcept;
/// After MPI_Finalize.
void leave_world() noexcept;

/// MPI_THREAD_MULTIPLE: another thread may sit in a blocking call, so nothing may be left for "the
/// next call" to do.
inline constinit std::atomic<bool> g_multiple{false};

}  // namespace strake::mpi
