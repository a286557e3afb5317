#include <hwloc.h>
#include <hwloc/distances.h>

#include <cstdio>
#include <memory>
#include <type_traits>

#include "topo/reader.hpp"

namespace strake::topo {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;

int number_inside(hwloc_topology_t topology, hwloc_const_cpuset_t set, hwloc_obj_type_t type) {
  return hwloc_get_nbobjs_inside_cpuset_by_type(topology, set, type);
}

std::string list_of(hwloc_const_cpuset_t set) {
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, set) < 0) return {};
  const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
  return owner.get();
}

void read_sockets(hwloc_topology_t topology, Topology& machine) {
  for (hwloc_obj_t socket = nullptr;
       (socket = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, socket)) != nullptr;) {
    const char* model = hwloc_obj_get_info_by_name(socket, "CPUModel");
    machine.sockets.push_back({static_cast<int>(socket->logical_index),
                               model == nullptr ? "" : model,
                               number_inside(topology, socket->cpuset, HWLOC_OBJ_CORE),
                               number_inside(topology, socket->cpuset, HWLOC_OBJ_PU)});
  }
}

/// The first socket that shares a thread with it.
int socket_of(hwloc_topology_t topology, hwloc_obj_t node) {
  for (hwloc_obj_t socket = nullptr;
       (socket = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, socket)) != nullptr;) {
    if (hwloc_bitmap_intersects(socket->cpuset, node->cpuset) != 0)
      return static_cast<int>(socket->logical_index);
  }
  return 0;
}

void read_distances(hwloc_topology_t topology, Topology& machine) {
  unsigned count = 1;
  hwloc_distances_s* distances = nullptr;
  const auto kind = HWLOC_DISTANCES_KIND_MEANS_LATENCY | HWLOC_DISTANCES_KIND_FROM_OS;
  if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &distances, kind, 0) != 0 ||
      count == 0)
    return;
  for (NumaNode& from : machine.nodes) {
    for (const NumaNode& to : machine.nodes) {
      int value = 0;
      for (unsigned row = 0; row < distances->nbobjs; ++row)
        for (unsigned column = 0; column < distances->nbobjs; ++column)
          if (static_cast<int>(distances->objs[row]->os_index) == from.index &&
              static_cast<int>(distances->objs[column]->os_index) == to.index)
            value = static_cast<int>(distances->values[row * distances->nbobjs + column]);
      from.distances.push_back(value);
    }
  }
  hwloc_distances_release(topology, distances);
}

void read_nodes(hwloc_topology_t topology, Topology& machine) {
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    NumaNode found;
    found.index = static_cast<int>(node->os_index);
    found.socket = socket_of(topology, node);
    found.memory_bytes = static_cast<std::int64_t>(node->attr->numanode.local_memory);
    found.cores = number_inside(topology, node->cpuset, HWLOC_OBJ_CORE);
    found.threads = list_of(node->cpuset);
    machine.nodes.push_back(found);
  }
  read_distances(topology, machine);
}

void read_caches(hwloc_topology_t topology, Topology& machine) {
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L1ICACHE, HWLOC_OBJ_L2CACHE,
                                      HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
    for (hwloc_obj_t cache = nullptr;
         (cache = hwloc_get_next_obj_by_type(topology, type, cache)) != nullptr;) {
      const auto& of = cache->attr->cache;
      const char* kind = of.type == HWLOC_OBJ_CACHE_DATA          ? "data"
                         : of.type == HWLOC_OBJ_CACHE_INSTRUCTION ? "instruction"
                                                                  : "unified";
      const Cache found{static_cast<int>(of.depth),         kind,
                        static_cast<std::int64_t>(of.size), 1,
                        static_cast<int>(of.linesize),      hwloc_bitmap_weight(cache->cpuset)};
      auto same = machine.caches.begin();
      while (same != machine.caches.end() &&
             (same->level != found.level || same->kind != found.kind ||
              same->bytes != found.bytes || same->threads != found.threads))
        ++same;
      if (same == machine.caches.end())
        machine.caches.push_back(found);
      else
        ++same->count;
    }
  }
}

/// Which node's memory each GPU is nearest to.
void place_gpus(hwloc_topology_t topology, Topology& machine) {
  for (Gpu& gpu : machine.gpus) {
    hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, gpu.pci.c_str());
    if (device == nullptr) continue;
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, device);
    if (near == nullptr || near->nodeset == nullptr) continue;
    // A device under the whole machine is near no node, unless there is one alone.
    if (hwloc_bitmap_weight(near->nodeset) == 1) gpu.node = hwloc_bitmap_first(near->nodeset);
  }
}

}  // namespace

void read_hwloc(Topology& machine) {
  hwloc_topology_t handle = nullptr;
  if (hwloc_topology_init(&handle) != 0) {
    machine.notes.emplace_back("hwloc did not start: sockets, NUMA nodes and caches are not shown");
    return;
  }
  const HwlocTopology topology(handle);
  hwloc_topology_set_io_types_filter(handle, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_cache_types_filter(handle, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_icache_types_filter(handle, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(handle) != 0) {
    machine.notes.emplace_back(
        "hwloc could not read this machine: sockets, NUMA nodes and caches are not shown");
    return;
  }
  if (hwloc_topology_is_thissystem(handle) == 0)
    machine.notes.emplace_back("hwloc shows another machine than this one (HWLOC_ variables)");
  read_sockets(handle, machine);
  read_nodes(handle, machine);
  read_caches(handle, machine);
  place_gpus(handle, machine);
}

}  // namespace strake::topo
