#include "measure/cuda/host_place.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "strake/error.hpp"

namespace strake::measure::cuda {
namespace {

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

std::vector<int> numa_nodes() {
  std::vector<int> nodes;
  for (const int node : read_list("/sys/devices/system/node/has_memory")) {
    if (!cpus_of(node).empty()) nodes.push_back(node);
  }
  return nodes;
}

void bind_memory(void* memory, std::size_t bytes, int node) {
  // As the kernel's interface has it; libnuma would be needed for nothing else.
  constexpr int kBind = 2;
  constexpr std::size_t kMostNodes = 1024;
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  std::array<unsigned long, kMostNodes / kBits> mask{};
  const auto bit = static_cast<std::size_t>(node);
  if (node < 0 || bit >= kMostNodes) throw Unsupported(fmt::format("NUMA node {}", node));
  mask[bit / kBits] = 1ul << (bit % kBits);
  if (syscall(SYS_mbind, memory, bytes, kBind, mask.data(), kMostNodes, 0) != 0) {
    throw Unsupported(
        fmt::format("memory can't be bound to NUMA node {}: {}", node, std::strerror(errno)));
  }
}

OnNode::OnNode(int node) {
  if (node < 0) return;
  if (sched_getaffinity(0, sizeof before_, &before_) != 0) {
    throw Unsupported(fmt::format("sched_getaffinity: {}", std::strerror(errno)));
  }
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int cpu : cpus_of(node)) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &wanted);
  }
  if (CPU_COUNT(&wanted) == 0 || sched_setaffinity(0, sizeof wanted, &wanted) != 0) {
    throw Unsupported(fmt::format("a thread can't be bound to NUMA node {}", node));
  }
  bound_ = true;
}

OnNode::~OnNode() {
  if (bound_) (void)sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace strake::measure::cuda
