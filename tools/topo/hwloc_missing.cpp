// Replaces hwloc_reader.cpp in builds without hwloc.
#include "topo/reader.hpp"

namespace strake::topo {

void read_hwloc(Topology& machine) {
  machine.notes.emplace_back(
      "built without hwloc: sockets, NUMA nodes, cores and caches are not shown");
}

}  // namespace strake::topo
