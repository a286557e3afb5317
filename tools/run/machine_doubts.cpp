#include "machine_doubts.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "load.hpp"

namespace strake::run {
namespace fs = std::filesystem;

namespace {

constexpr auto kLook = std::chrono::milliseconds(300);

/// Below this share of the highest clock a limit is worth a word.
constexpr double kUnlimited = 0.95;

template <typename Value>
Value read_value(const fs::path& path) {
  Value value{};
  std::ifstream(path) >> value;
  return value;
}

}  // namespace

std::vector<std::string> machine_doubts() {
  const CpuTimes before = cpu_times();
  std::this_thread::sleep_for(kLook);
  const int cpus = std::max(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), 1);
  std::vector<std::string> doubts = {doubt(between(before, cpu_times(), cpus)), clock_limit()};
  std::erase(doubts, "");
  return doubts;
}

std::string clock_limit(const std::string& root) {
  const fs::path folder = fs::path(root) / "cpu0/cpufreq";
  const auto highest = read_value<double>(folder / "cpuinfo_max_freq");
  const auto limit = read_value<double>(folder / "scaling_max_freq");
  if (limit > 0 && limit < kUnlimited * highest) {
    constexpr double kHz_per_GHz = 1e6;
    return fmt::format("the CPUs are limited to {:.1f} of {:.1f} GHz", limit / kHz_per_GHz,
                       highest / kHz_per_GHz);
  }
  // Intel's driver has this name for what adapts to the load; with others it is the lowest clock.
  if (read_value<std::string>(folder / "scaling_governor") == "powersave" &&
      !read_value<std::string>(folder / "scaling_driver").starts_with("intel_pstate") &&
      !read_value<std::string>(folder / "scaling_driver").starts_with("amd-pstate-epp"))
    return "the CPUs run at their lowest clock (governor powersave)";
  return {};
}

std::string crowding(int ranks) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof(mine), &mine) != 0) return {};
  const int cpus = CPU_COUNT(&mine);
  if (ranks <= cpus) return {};
  return fmt::format("{} ranks share {} CPU{}", ranks, cpus, cpus == 1 ? "" : "s");
}

}  // namespace strake::run
