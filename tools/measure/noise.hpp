/// \file  Notices what disturbs a measurement: other processes, a hypervisor, a shared memory bus.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "case.hpp"

namespace strake::measure {

/// What the kernel has counted on this node, up to a moment. [s]
struct CpuTimes {
  double at = 0;       ///< the moment
  double busy = 0;     ///< CPU time of all processes, and of interrupts
  double stolen = 0;   ///< by the hypervisor, from all CPUs
  double own = 0;      ///< CPU time of this job's ranks
  double waiting = 0;  ///< the ranks together: ready to run, without a CPU
};

/// What happened between two moments, beside the measurement.
struct Disturbance {
  int cpus = 1;         ///< of the node
  double others = 0;    ///< CPUs that other processes used, on the average
  double stolen = 0;    ///< CPUs that the hypervisor took
  double waiting = 0;   ///< CPUs that this job's ranks had to wait for
  double slowdown = 1;  ///< time of the reference, over its usual time
};

[[nodiscard]] Disturbance between(const CpuTimes& from, const CpuTimes& to, int cpus);
/// Why a result that was measured meanwhile is doubtful, "other processes used 1.3 of 2 CPUs";
/// empty: it is not.
[[nodiscard]] std::string doubt(const Disturbance& disturbance);

/// The ranks of the job on rank 0's node, by their process ids. Collective; `team` may be null.
[[nodiscard]] std::vector<int> processes_of(Team* team);

/// Watches the node while cases are measured. For rank 0.
class Watch {
 public:
  /// Looks at the node for 0.2 s, while the ranks sleep. `processes`: this job's on this node.
  explicit Watch(std::vector<int> processes);

  /// What disturbed that time; empty: nothing did.
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
