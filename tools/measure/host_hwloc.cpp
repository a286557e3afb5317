#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "host.hpp"
#include "settings/counted.hpp"
#include "strake/error.hpp"

namespace strake::measure {
namespace {

/// Found once, for as long as the process lives.
hwloc_topology_t topology() {
  static const hwloc_topology_t found = [] {
    hwloc_topology_t result = nullptr;
    if (hwloc_topology_init(&result) != 0 || hwloc_topology_load(result) != 0) {
      throw Unsupported(
          fmt::format("hwloc can't find this node's topology: {}", std::strerror(errno)));
    }
    return result;
  }();
  return found;
}

struct Bitmap {
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  Bitmap() = default;
  ~Bitmap() { hwloc_bitmap_free(set); }
  Bitmap(const Bitmap&) = delete;
  Bitmap& operator=(const Bitmap&) = delete;
};

int count(hwloc_obj_type_t type) { return std::max(hwloc_get_nbobjs_by_type(topology(), type), 1); }

hwloc_obj_t numa_node(int node) {
  const hwloc_obj_t object =
      hwloc_get_numanode_obj_by_os_index(topology(), static_cast<unsigned>(node));
  if (object == nullptr) throw Unsupported(fmt::format("there is no NUMA node {}", node));
  return object;
}

}  // namespace

Host count_host() {
  Host result;
  result.sockets = count(HWLOC_OBJ_PACKAGE);
  result.cores = count(HWLOC_OBJ_CORE);
  result.threads = count(HWLOC_OBJ_PU);
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology(), HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    // Memory of GPUs and other devices shows as nodes without cores.
    if (node->attr->numanode.local_memory > 0 && !hwloc_bitmap_iszero(node->cpuset)) {
      result.numa_nodes.push_back(static_cast<int>(node->os_index));
    }
  }
  return result;
}

std::string bind_thread(int local_rank, int local_ranks, int threads) {
  const Bitmap now;
  if (hwloc_get_cpubind(topology(), now.set, HWLOC_CPUBIND_THREAD) != 0) {
    return fmt::format("not bound: {}", std::strerror(errno));
  }
  const hwloc_const_bitmap_t all = hwloc_topology_get_topology_cpuset(topology());
  if (local_ranks > 1 && !hwloc_bitmap_isequal(now.set, all)) {
    return "where the launcher bound it";
  }
  const int cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology(), now.set, HWLOC_OBJ_CORE);
  if (cores < local_ranks) {
    return fmt::format("not bound: {} share {}", counted(local_ranks, "rank"),
                       counted(cores, "core"));
  }
  // The last cores: the first ones serve most interrupts.
  hwloc_obj_t place = hwloc_get_obj_inside_cpuset_by_type(
      topology(), now.set, HWLOC_OBJ_CORE, static_cast<unsigned>(cores - 1 - local_rank % cores));
  if (place == nullptr) return "not bound: hwloc knows no cores here";
  if (threads > 1) {
    while (place->parent != nullptr && place->memory_arity == 0) place = place->parent;
  }
  if (hwloc_set_cpubind(topology(), place->cpuset, HWLOC_CPUBIND_THREAD) != 0) {
    return fmt::format("not bound: {}", std::strerror(errno));
  }
  return fmt::format("{} {}", threads > 1 ? "the NUMA node of core" : "core",
                     hwloc_bitmap_first(place->cpuset));
}

OnNumaNode::OnNumaNode(int node) {
  if (node == kAnyNode) return;
  const auto* const there = numa_node(node);  // throws, so before anything is held
  const hwloc_bitmap_t before = hwloc_bitmap_alloc();
  if (hwloc_get_cpubind(topology(), before, HWLOC_CPUBIND_THREAD) != 0 ||
      hwloc_set_cpubind(topology(), there->cpuset, HWLOC_CPUBIND_THREAD) != 0) {
    const int reason = errno;
    hwloc_bitmap_free(before);
    throw Unsupported(
        fmt::format("this thread can't run on NUMA node {}: {}", node, std::strerror(reason)));
  }
  before_ = before;
}

OnNumaNode::~OnNumaNode() {
  if (before_ == nullptr) return;
  const auto before = static_cast<hwloc_bitmap_t>(before_);
  hwloc_set_cpubind(topology(), before, HWLOC_CPUBIND_THREAD);
  hwloc_bitmap_free(before);
}

void place_memory(void* data, std::size_t bytes, int node) {
  if (hwloc_set_area_membind(topology(), data, bytes, numa_node(node)->nodeset, HWLOC_MEMBIND_BIND,
                             HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_STRICT) != 0) {
    throw Unsupported(
        fmt::format("memory can't be put on NUMA node {}: {}", node, std::strerror(errno)));
  }
}

}  // namespace strake::measure
