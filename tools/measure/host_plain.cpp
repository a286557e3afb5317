#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host.hpp"
#include "settings/counted.hpp"
#include "strake/error.hpp"

namespace strake::measure {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// "0-3,8" as numbers; nothing where the file is missing.
std::vector<int> read_list(const std::string& path) {
  std::ifstream file(path);
  std::vector<int> numbers;
  int first = 0;
  while (file >> first) {
    int last = first;
    if (file.peek() == '-') {
      file.get();
      file >> last;
    }
    for (int i = first; i <= last; ++i) numbers.push_back(i);
    if (file.peek() == ',') file.get();
  }
  return numbers;
}

std::vector<int> cpus_of(int node) {
  return read_list(fmt::format("/sys/devices/system/node/node{}/cpulist", node));
}

}  // namespace

Host count_host() {
  Host result;
  std::set<std::string> sockets, cores;
  int threads = 0;
  for (const int cpu : read_list("/sys/devices/system/cpu/online")) {
    const std::string topology = fmt::format("/sys/devices/system/cpu/cpu{}/topology", cpu);
    ++threads;
    const std::string socket = first_line(topology + "/physical_package_id");
    sockets.insert(socket);
    cores.insert(socket + ":" + first_line(topology + "/core_id"));
  }
  if (threads > 0) {
    result.sockets = static_cast<int>(sockets.size());
    result.cores = static_cast<int>(cores.size());
    result.threads = threads;
  }
  for (const int node : read_list("/sys/devices/system/node/has_memory")) {
    if (!cpus_of(node).empty()) result.numa_nodes.push_back(node);
  }
  return result;
}

std::string bind_thread(int local_rank, int local_ranks, int threads) {
  cpu_set_t now;
  if (threads > 1) return "not bound: Strake was built without hwloc, which knows the NUMA nodes";
  if (sched_getaffinity(0, sizeof(now), &now) != 0)
    return "not bound: the kernel does not say on which cores it may run";
  const int cpus = CPU_COUNT(&now);
  if (local_ranks > 1 && cpus < host().threads) return "where the launcher bound it";
  if (cpus < local_ranks)
    return fmt::format("not bound: {} share {}", counted(local_ranks, "rank"),
                       counted(cpus, "CPU"));
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

OnNumaNode::OnNumaNode(int node) {
  if (node == kAnyNode) return;
  auto before = std::make_unique<cpu_set_t>();
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int cpu : cpus_of(node)) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &wanted);
  }
  if (CPU_COUNT(&wanted) == 0) throw Unsupported(fmt::format("there is no NUMA node {}", node));
  if (sched_getaffinity(0, sizeof *before, before.get()) != 0 ||
      sched_setaffinity(0, sizeof wanted, &wanted) != 0) {
    throw Unsupported(
        fmt::format("this thread can't run on NUMA node {}: {}", node, std::strerror(errno)));
  }
  before_ = before.release();
}

OnNumaNode::~OnNumaNode() {
  const std::unique_ptr<cpu_set_t> before(static_cast<cpu_set_t*>(before_));
  if (before != nullptr) sched_setaffinity(0, sizeof *before, before.get());
}

void place_memory(void* data, std::size_t bytes, int node) {
  // As the kernel's interface has it; libnuma would be needed for nothing else.
  constexpr int kBind = 2;
  constexpr std::size_t kMostNodes = 1024;
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  std::array<unsigned long, kMostNodes / kBits> mask{};
  const auto bit = static_cast<std::size_t>(node);
  if (node < 0 || bit >= kMostNodes)
    throw Unsupported(fmt::format("there is no NUMA node {}", node));
  mask[bit / kBits] = 1UL << (bit % kBits);
  if (syscall(SYS_mbind, data, bytes, kBind, mask.data(), kMostNodes, 0) != 0) {
    throw Unsupported(
        fmt::format("memory can't be put on NUMA node {}: {}", node, std::strerror(errno)));
  }
}

}  // namespace strake::measure
