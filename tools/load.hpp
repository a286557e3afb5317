/// \file  Work on this node's CPUs, by the kernel's counts.
#pragma once

#include <string>

namespace strake {

/// The kernel's counts for this node, up to a moment. [s]
struct CpuTimes {
  double at = 0;       ///< the moment
  double busy = 0;     ///< CPU time of all processes, and of interrupts
  double stolen = 0;   ///< by the hypervisor, from all CPUs
  double own = 0;      ///< CPU time of this job's ranks
  double waiting = 0;  ///< the ranks together: ready to run, without a CPU
};

/// The counts now, without those of a job.
[[nodiscard]] CpuTimes cpu_times();
[[nodiscard]] double ticks_to_seconds(double ticks);

/// The work beside the measurement, between two moments.
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

}  // namespace strake
