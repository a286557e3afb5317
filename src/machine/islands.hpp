/// \file  Islands of a node: processors, or GPUs, that copy to each other faster than to the others
/// of their node, as this class of machine was measured.
#pragma once

#include <optional>
#include <vector>

#include "machine/profile.hpp"

namespace strake::machine {

/// Two are of one island if they copy to each other at no less than 0.8 of the highest rate, or are
/// both so with a third one. Islands are numbered from 0 on.
struct Islands {
  std::vector<int> of_numa_node;  ///< by the kernel's number
  std::vector<int> of_gpu;        ///< as the profile numbers them
  // Empty: all are of one island, or some pair was not measured.
};

/// From `copy/numa/…` and `gpu/peer/…` of the profile, or `gpu/no-peer/…`.
[[nodiscard]] Islands islands_of(const Profile& profile);

/// The NUMA node of all processors that this process may run on. Nothing: these are of several, or
/// the kernel does not say. ~50 us.
[[nodiscard]] std::optional<int> own_numa_node() noexcept;

/// The island of this process's memory on a host: 0 where its node has one, or was not measured;
/// negative: its processors are of several. `rank` is in MPI_COMM_WORLD, for
/// STRAKE_RANKS_PER_ISLAND. On machines of one NUMA node ~2 us; elsewhere the first call in a
/// process searches for the profile, ~1 ms.
[[nodiscard]] int own_island(int rank) noexcept;

/// The island of a device of this process: 0 where the node has one, or was not measured, or where
/// this process sees `devices` of them and the profile has another number.
[[nodiscard]] int island_of_gpu(int device, int devices) noexcept;

}  // namespace strake::machine
