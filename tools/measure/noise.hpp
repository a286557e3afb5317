/// \file  Notices what disturbs a measurement: other processes, a hypervisor, a shared memory bus.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "case.hpp"
#include "load.hpp"

namespace strake::measure {

/// The ranks of the job on rank 0's node, by their process ids. Collective; `team` may be null.
[[nodiscard]] std::vector<int> processes_of(Team* team);

/// Watches the node while cases are measured. For rank 0.
class Watch {
 public:
  /// Looks at the node for 0.2 s, while the ranks sleep. `processes`: this job's on this node.
  explicit Watch(std::vector<int> processes);

  /// The disturbance in those 0.2 s, for people; empty: there was none.
  [[nodiscard]] const std::string& at_start() const noexcept { return at_start_; }
  /// Why what was measured since the last call, or since the start, is doubtful; empty: it is not.
  /// Cost: ~1 ms.
  [[nodiscard]] std::string doubt();

 private:
  [[nodiscard]] CpuTimes now() const;
  /// Seconds of a copy that is always the same.
  [[nodiscard]] double reference();
  [[nodiscard]] Disturbance disturbance();

  std::vector<int> processes_;
  int cpus_;
  bool crowded_;  // ranks disturb each other: they share CPUs
  std::vector<std::byte> from_, to_;
  std::vector<double> references_;  // in the order of their making
  std::deque<CpuTimes> moments_;
  std::string at_start_;
};

}  // namespace strake::measure
