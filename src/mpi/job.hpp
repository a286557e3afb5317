/// \file  What launchers tell of a job's ranks (Open MPI's mpirun, Hydra, Slurm), in the
/// environment.
#pragma once

#include <cstdint>
#include <optional>

#include "settings/settings.hpp"

namespace strake::mpi {

/// Ranks of the job on this node.
[[nodiscard]] std::optional<long> local_ranks() noexcept;
/// Whether all ranks of the job are on this node; or on one of the pretended nodes of so many ranks
/// (0: nothing is pretended).
[[nodiscard]] std::optional<bool> on_one_node(
    std::int64_t pretended = settings::number(settings::Id::ranks_per_node)) noexcept;

}  // namespace strake::mpi
