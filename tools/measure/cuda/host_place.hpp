/// \file  NUMA nodes: where they are, and memory and threads bound to one.
#pragma once

#include <sched.h>

#include <cstddef>
#include <vector>

namespace strake::measure::cuda {

/// Nodes that have both memory and CPUs. Empty where the system does not say.
[[nodiscard]] std::vector<int> numa_nodes();

/// Pages of [memory, memory + bytes) will be on `node` alone. \throws Unsupported  not permitted
void bind_memory(void* memory, std::size_t bytes, int node);

/// While it lives, the thread runs on the CPUs of `node` (-1: wherever it did).
class OnNode {
 public:
  /// \throws Unsupported  not permitted, or the node has no CPU of this process
  explicit OnNode(int node);
  ~OnNode();
  OnNode(const OnNode&) = delete;
  OnNode& operator=(const OnNode&) = delete;

 private:
  cpu_set_t before_{};
  bool bound_ = false;
};

}  // namespace strake::measure::cuda
