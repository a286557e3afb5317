#include <fmt/format.h>
#include <sched.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "host_place.hpp"
#include "strake/error.hpp"

namespace strake::measure {
namespace fs = std::filesystem;

namespace {

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The number behind `prefix` in a name, or -1.
int number_behind(const std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix) || name.size() == prefix.size()) return -1;
  return std::isdigit(name[prefix.size()]) != 0 ? std::atoi(name.c_str() + prefix.size()) : -1;
}

}  // namespace

Host count_host() {
  Host result;
  std::error_code error;
  std::set<std::string> sockets, cores;
  int threads = 0;
  for (const auto& entry : fs::directory_iterator("/sys/devices/system/cpu", error)) {
    const fs::path topology = entry.path() / "topology";
    if (number_behind(entry.path().filename().string(), "cpu") < 0 || !fs::exists(topology, error))
      continue;
    ++threads;
    const std::string socket = first_line(topology / "physical_package_id");
    sockets.insert(socket);
    cores.insert(socket + ":" + first_line(topology / "core_id"));
  }
  if (threads > 0) {
    result.sockets = static_cast<int>(sockets.size());
    result.cores = static_cast<int>(cores.size());
    result.threads = threads;
  }
  std::set<int> nodes;
  for (const auto& entry : fs::directory_iterator("/sys/devices/system/node", error)) {
    const int node = number_behind(entry.path().filename().string(), "node");
    if (node >= 0 && !first_line(entry.path() / "cpulist").empty()) nodes.insert(node);
  }
  result.numa_nodes.assign(nodes.begin(), nodes.end());
  return result;
}

std::string bind_thread(int local_rank, int local_ranks, int threads) {
  cpu_set_t now;
  if (threads > 1) return "not bound: Strake was built without hwloc, which knows the NUMA nodes";
  if (sched_getaffinity(0, sizeof(now), &now) != 0)
    return "not bound: the system does not say where it may run";
  const int cpus = CPU_COUNT(&now);
  if (local_ranks > 1 && cpus < host().threads) return "where the launcher bound it";
  if (cpus < local_ranks)
    return fmt::format("not bound: {} ranks share {} CPUs", local_ranks, cpus);
  int skip = cpus - 1 - local_rank % cpus;  // the last ones: the first serve most interrupts
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &now) || skip-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0) return "not bound: not permitted";
    return fmt::format("CPU {}", cpu);
  }
  return "not bound";
}

bool can_use_numa() noexcept { return false; }

OnNumaNode::OnNumaNode(int node) {
  throw Unsupported(fmt::format("NUMA node {} can't be chosen: built without hwloc", node));
}

OnNumaNode::~OnNumaNode() = default;

void place_memory(void* /*data*/, std::size_t /*bytes*/, int node) {
  throw Unsupported(fmt::format("NUMA node {} can't be chosen: built without hwloc", node));
}

}  // namespace strake::measure
