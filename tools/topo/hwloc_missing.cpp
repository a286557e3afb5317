// In the place of hwloc_reader.cpp in builds without hwloc.
#include "topo/topology.hpp"

namespace strake::topo {

void read_hwloc(Machine& machine) {
  machine.notes.emplace_back(
      "built without hwloc: sockets, NUMA nodes, cores and caches are not shown");
}

}  // namespace strake::topo
