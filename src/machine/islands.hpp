/// \file  Islands of a node: processors, or GPUs, that copy to each other faster than to the others
/// of their node, as this class of machine was measured.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "machine/profile.hpp"

namespace strake::machine {

/// Two are of one island if they copy to each other at no less than 0.8 of the highest rate, or are
/// both so with a third one. Rates are those of the most bytes that all pairs were measured with.
struct Islands {
  std::map<int, int> of_numa_node;  ///< by the kernel's number
  std::map<int, int> of_gpu;        ///< as the profile numbers them
  // Empty: all are of one island, or some pair was not measured.
};

/// From `copy/numa/…` and `gpu/peer/…` of the profile, or `gpu/no-peer/…`; doubtful results count
/// for nothing.
[[nodiscard]] Islands islands_of(const Profile& profile);

/// The NUMA nodes that have processors on which this process may run. None: the kernel does not
/// say. ~50 us. \param sysfs  where the kernel tells
[[nodiscard]] std::vector<int> own_numa_nodes(const std::string& sysfs = "/sys");

/// The island of this process's memory on a host: 0 where its node has one, or was not measured;
/// negative: its processors are of several. `rank` is in MPI_COMM_WORLD, for
/// STRAKE_RANKS_PER_ISLAND. On machines of one NUMA node ~10 us; elsewhere the first call in a
/// process searches for the profile, ~1 ms.
[[nodiscard]] int own_island(int rank) noexcept;

/// The island of a device of this process, of other numbers than those of host memory; as
/// CUDA_VISIBLE_DEVICES names it by number or, without that, where this process sees as many
/// devices as the profile has. 0: not known which it is, or the node has one island, or was not
/// measured.
[[nodiscard]] int island_of_gpu(int device, int devices) noexcept;

}  // namespace strake::machine
