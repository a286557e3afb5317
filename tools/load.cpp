#include "load.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <vector>

namespace strake {
namespace {

constexpr double kLeastOthers = 0.3;    // CPUs: daemons of a quiet node use less
constexpr double kShareOfOthers = 0.1;  // of the node's CPUs: they share its memory bus
constexpr double kShareStolen = 0.05;
constexpr double kWaiting = 0.1;   // CPUs
constexpr double kSlowdown = 1.5;  // a quiet machine of 16 cores: 1.45 at the 99th percentile

}  // namespace

double ticks_to_seconds(double ticks) {
  static const auto per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  return ticks / per_second;
}

CpuTimes cpu_times() {
  CpuTimes times;
  times.at =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  // User, nice, system, idle, waiting for a disk, interrupts, soft interrupts, stolen.
  std::string name;
  words >> name;
  std::vector<double> ticks;
  for (double number = 0; words >> number;) ticks.push_back(number);
  if (ticks.size() > 7) {
    times.busy = ticks_to_seconds(ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]);
    times.stolen = ticks_to_seconds(ticks[7]);
  }
  return times;
}

Disturbance between(const CpuTimes& from, const CpuTimes& to, int cpus) {
  Disturbance result;
  result.cpus = cpus;
  const double seconds = to.at - from.at;
  if (seconds <= 0) return result;
  result.others = std::max((to.busy - from.busy - (to.own - from.own)) / seconds, 0.0);
  result.stolen = (to.stolen - from.stolen) / seconds;
  result.waiting = (to.waiting - from.waiting) / seconds;
  return result;
}

std::string doubt(const Disturbance& d) {
  if (d.others >= std::max(kLeastOthers, kShareOfOthers * d.cpus))
    return fmt::format("other processes used {:.1f} of {} CPUs", d.others, d.cpus);
  if (d.stolen >= kShareStolen * d.cpus)
    return fmt::format("the hypervisor took {:.1f} of {} CPUs", d.stolen, d.cpus);
  if (d.waiting >= kWaiting)
    return fmt::format("this job waited {:.0f} % of the time for a CPU",
                       100 * std::min(d.waiting, 1.0));
  if (d.slowdown >= kSlowdown)
    return fmt::format("a reference copy took {:.1f} times its usual time", d.slowdown);
  return {};
}

}  // namespace strake
