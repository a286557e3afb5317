/// \file  Tasks of the probe (main.cpp) in each rank, between MPI_Init and MPI_Finalize.
#pragma once

namespace strake::probe {

/// Returns the process's exit status. Collective.
[[nodiscard]] int try_gpu(int rank, int ranks);
/// Rank 0 prints a line for each rank of its job. Collective.
[[nodiscard]] int tell_ranks(int rank, int ranks);

}  // namespace strake::probe
