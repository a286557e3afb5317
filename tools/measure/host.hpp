/// \file  The node's sockets, cores and NUMA nodes: their numbers, binding to them, and memory on
/// them. By hwloc if Strake was built with it, otherwise from /sys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace strake::measure {

struct Host {
  std::string cpu;  ///< model name
  int sockets = 1;
  int cores = 1;
  int threads = 1;
  std::vector<int> numa_nodes;  ///< those with memory, by the kernel's numbers
  std::int64_t memory_bytes = 0;
};

/// The whole node. Cost: a few ms at the first call.
[[nodiscard]] const Host& host();

/// How much memory a measurement may use: half of what is available. [bytes]
[[nodiscard]] std::int64_t memory_to_spend();

/// Binds the calling thread to a core of its own, or with `threads` > 1 to a NUMA node; a process
/// that its launcher has bound already stays there. Returns what was done, for people.
std::string bind_thread(int local_rank, int local_ranks, int threads);

/// Instead of a NUMA node's number: any node.
inline constexpr int kAnyNode = -1;

/// Binds the calling thread to the cores of a NUMA node until the end of the scope.
class OnNumaNode {
 public:
  /// \throws Unsupported  it can't be put there.
  explicit OnNumaNode(int node);
  ~OnNumaNode();
  OnNumaNode(const OnNumaNode&) = delete;
  OnNumaNode& operator=(const OnNumaNode&) = delete;

 private:
  void* before_ = nullptr;
};

/// Pages of host memory, touched.
class HostMemory {
 public:
  /// \throws OutOfMemory, Unsupported  the node can't be chosen.
  explicit HostMemory(std::size_t bytes, int node = kAnyNode);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// \{ The parts that hwloc does (host_hwloc.cpp), or that are done without it (host_plain.cpp): one
/// of the two is compiled. All members of a Host except `cpu` and `memory_bytes`.
[[nodiscard]] Host count_host();
/// Pages not touched yet will lie on this NUMA node. \throws Unsupported
void place_memory(void* data, std::size_t bytes, int node);
/// \}

/// \{ The launcher's count of ranks on this node, from its environment; 0 of 1 without one.
[[nodiscard]] int local_rank();
[[nodiscard]] int local_ranks();
/// \}

}  // namespace strake::measure
