/// \file  Reads this machine's topology: what NVML tells, and what hwloc tells where this build has
/// it. (hwloc stays out of the library, and so out of every rank.)
#pragma once

#include "machine/topology.hpp"

namespace strake::topo {

using machine::Cache;
using machine::Gpu;
using machine::NumaNode;
using machine::Socket;
using machine::Topology;

/// Sockets, nodes and caches, and the NUMA nodes of the GPUs that are there already. Without hwloc
/// in this build: a note.
void read_hwloc(Topology& machine);
/// All of it.
[[nodiscard]] Topology read_machine();

}  // namespace strake::topo
