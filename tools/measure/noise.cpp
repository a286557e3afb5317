#include "noise.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>
#include <utility>

namespace strake::measure {
namespace {

// /proc/stat counts by ticks of 10 ms: a shorter time tells nothing of a CPU.
constexpr double kShortest = 0.5;  // [s]
constexpr auto kAtStart = std::chrono::milliseconds(200);

constexpr std::size_t kReferenceBytes = std::size_t{1}
                                        << 20;  // with its copy past most cores' own caches
constexpr int kReferencesAtStart = 20;
constexpr int kReferences = 3;  // the shortest counts: the first is cold, one may be interrupted

/// The numbers of a line that follow `skip` words.
std::vector<double> numbers_of(std::istream& line, int skip) {
  std::string word;
  for (int i = 0; i < skip; ++i) line >> word;
  std::vector<double> numbers;
  for (double number = 0; line >> number;) numbers.push_back(number);
  return numbers;
}

/// CPU time of a process and of its threads. 0 once it has ended.
double cpu_time_of(int process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  file.ignore(std::numeric_limits<std::streamsize>::max(), ')');  // its name may have blanks
  constexpr std::size_t kUser = 10, kSystem = 11;                 // from the parent's id on
  const std::vector<double> numbers = numbers_of(file, 1);
  return numbers.size() > kSystem ? ticks_to_seconds(numbers[kUser] + numbers[kSystem]) : 0;
}

/// How long the process's first thread was ready to run, but had no CPU.
double waiting_of(int process) {
  std::ifstream file(fmt::format("/proc/{}/schedstat", process));
  const std::vector<double> numbers = numbers_of(file, 0);
  return numbers.size() > 1 ? numbers[1] * 1e-9 : 0;
}

/// Whether there are more processes than CPUs that they may run on.
bool share_cpus(const std::vector<int>& processes) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const int process : processes) {
    cpu_set_t some;
    if (sched_getaffinity(process, sizeof(some), &some) == 0) CPU_OR(&all, &all, &some);
  }
  return static_cast<int>(processes.size()) > CPU_COUNT(&all);
}

}  // namespace

std::vector<int> processes_of(Team* team) {
  if (team == nullptr || team->size() < 2) return {getpid()};
  std::array<char, 64> mine{};
  std::ifstream("/proc/sys/kernel/random/boot_id").getline(mine.data(), mine.size());
  std::array<char, 64> first = mine;
  team->broadcast(first.data(), first.size());
  // Values below 0, since a rank that gives a time stays awake.
  constexpr double kNone = -1e10;
  std::vector<int> processes;
  for (int rank = 0; rank < team->size(); ++rank) {
    const bool asked = rank == team->rank() && first == mine;
    const double answer = team->maximum(asked ? kNone + getpid() : kNone);
    if (answer > kNone) processes.push_back(static_cast<int>(answer - kNone));
  }
  return processes;
}

Watch::Watch(std::vector<int> processes)
    : processes_(std::move(processes)),
      cpus_(std::max(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), 1)),
      crowded_(share_cpus(processes_)),
      from_(kReferenceBytes, std::byte{1}),
      to_(kReferenceBytes) {
  moments_.push_back(now());
  std::this_thread::sleep_for(kAtStart);
  for (int i = 0; i < kReferencesAtStart; ++i) references_.push_back(reference());
  at_start_ = strake::doubt(disturbance());
}

CpuTimes Watch::now() const {
  CpuTimes times = cpu_times();
  for (const int process : processes_) {
    times.own += cpu_time_of(process);
    times.waiting += crowded_ ? 0 : waiting_of(process);
  }
  return times;
}

double Watch::reference() {
  double shortest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kReferences; ++i) {
    shortest = std::min(shortest, time_calls(1, [this] {
                          asm volatile("" ::"g"(from_.data()) : "memory");
                          std::memcpy(to_.data(), from_.data(), kReferenceBytes);
                          asm volatile("" ::"g"(to_.data()) : "memory");
                        }));
  }
  return shortest;
}

Disturbance Watch::disturbance() {
  moments_.push_back(now());
  const double end = moments_.back().at;
  while (moments_.size() > 2 && end - moments_[1].at >= kShortest) moments_.pop_front();
  Disturbance result = between(moments_.front(), moments_.back(), cpus_);
  // A disturbance that lasted through the case slows both reference copies.
  const double before = references_.back();
  references_.push_back(reference());
  const double both = std::min(before, references_.back());
  // Not the shortest: where memory happens to lie well once, all others would be slow.
  std::vector<double> sorted = references_;
  const auto quartile = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 4);
  std::nth_element(sorted.begin(), quartile, sorted.end());
  if (!crowded_) result.slowdown = both / *quartile;
  return result;
}

std::string Watch::doubt() { return strake::doubt(disturbance()); }

}  // namespace strake::measure
