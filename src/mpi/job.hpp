/// \file  Facts about a job's ranks from the environment variables of launchers (Open MPI's mpirun,
/// Hydra, Slurm).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "settings/settings.hpp"

namespace strake::mpi {

/// Ranks of the job on this node.
[[nodiscard]] std::optional<long> local_ranks() noexcept;
/// Whether all ranks of the job are on this node. With STRAKE_RANKS_PER_NODE: whether they are on
/// one pretended node of `pretended` ranks (0: none is pretended).
[[nodiscard]] std::optional<bool> on_one_node(
    std::int64_t pretended = settings::number(settings::Id::ranks_per_node)) noexcept;

/// An identifier that the launcher gives to the ranks of one MPI_COMM_WORLD on a node, and to
/// nobody else: two jobs of one script differ by it. Nothing if the launcher gives none.
[[nodiscard]] std::optional<std::string> launch_id();

}  // namespace strake::mpi
