/// \file  Reads this machine's topology from NVML and, if this build has it, from hwloc. (Only the
/// command needs hwloc, so no rank loads it.)
#pragma once

#include "machine/topology.hpp"

namespace strake::topo {

using machine::Cache;
using machine::Gpu;
using machine::NumaNode;
using machine::Socket;
using machine::Topology;

/// Adds sockets, nodes and caches, and the NUMA nodes of the GPUs in `topology`. Without hwloc in
/// this build, adds a note.
void read_hwloc(Topology& machine);
/// The whole topology.
[[nodiscard]] Topology read_machine();

}  // namespace strake::topo
