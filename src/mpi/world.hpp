/// \file  The state of MPI in this process: whether there is an MPI_COMM_WORLD, and whether several
/// threads may call MPI at a time.
#pragma once

#include <atomic>

namespace strake::mpi {

/// Whether there is an MPI_COMM_WORLD: not in a program that uses only sessions, nor after
/// MPI_Finalize.
[[nodiscard]] bool in_world() noexcept;
/// Call it after MPI_Finalize.
void leave_world() noexcept;

/// MPI_THREAD_MULTIPLE: another thread may be in a blocking call, so no work may be left to "the
/// next call".
inline constinit std::atomic<bool> g_multiple{false};

}  // namespace strake::mpi
