// The parts of host.hpp that need no library.
#include "host.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "strake/error.hpp"

namespace strake::measure {
namespace {

/// The value of the first line of `file` that begins with `name`.
std::string line_of(const char* file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t value = line.find_first_not_of(": \t", name.size());
    return value == std::string::npos ? "" : line.substr(value);
  }
  return {};
}

int number_from(std::initializer_list<const char*> variables, int otherwise) {
  for (const char* variable : variables) {
    if (const char* text = std::getenv(variable)) return std::max(std::atoi(text), 0);
  }
  return otherwise;
}

}  // namespace

const Host& host() {
  static const Host found = [] {
    Host result = count_host();
    result.cpu = line_of("/proc/cpuinfo", "model name");
    result.memory_bytes = std::atoll(line_of("/proc/meminfo", "MemTotal").c_str()) * 1024;
    return result;
  }();
  return found;
}

std::int64_t memory_to_spend() {
  return std::atoll(line_of("/proc/meminfo", "MemAvailable").c_str()) * 1024 / 2;
}

HostMemory::HostMemory(std::size_t bytes, int node) : size_(bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw OutOfMemory(fmt::format("{} bytes of host memory: {}", bytes, std::strerror(errno)));
  }
  data_ = static_cast<std::byte*>(memory);
  try {
    if (node != kAnyNode) place_memory(memory, bytes, node);
  } catch (...) {
    munmap(memory, bytes);
    throw;
  }
  std::memset(memory, 1, bytes);
}

HostMemory::~HostMemory() { munmap(data_, size_); }

int local_rank() {
  return number_from({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}, 0);
}

int local_ranks() {
  return number_from({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE"},
                     1);
}

}  // namespace strake::measure
