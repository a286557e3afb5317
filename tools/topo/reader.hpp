/// \file  Reads this machine's topology from NVML, sysfs and, if this build has it, hwloc. (Only
/// the command needs hwloc, so no rank loads it.)
#pragma once

#include <string>

#include "machine/topology.hpp"

namespace strake::topo {

using machine::Cache;
using machine::Gpu;
using machine::Nic;
using machine::NumaNode;
using machine::Socket;
using machine::Topology;

/// Adds sockets, nodes and caches, and the NUMA nodes of the GPUs in `topology`. Without hwloc in
/// this build, adds a note.
void read_hwloc(Topology& machine);
/// Adds the ports of RDMA devices that are active, and the network devices that are up, but none
/// that belongs to such a port, is virtual or wireless. Adds a note if there are none.
/// \param sysfs  the root of the file system: "/sys"
void read_nics(Topology& machine, const std::string& sysfs);
/// The whole topology.
[[nodiscard]] Topology read_machine();

}  // namespace strake::topo
