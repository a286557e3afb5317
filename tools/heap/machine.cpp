#include "machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "memory/control_group.hpp"
#include "memory/small_file.hpp"

namespace strake::heap {
namespace {

bool has_any_of(const char* path, const char* first, const char* second) noexcept {
  char text[128];
  return read_text(path, text) &&
         (std::strstr(text, first) != nullptr || std::strstr(text, second) != nullptr);
}

}  // namespace

bool is_limited(__rlimit_resource_t what, std::int64_t bytes) noexcept {
  rlimit limit{};
  return getrlimit(what, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         (bytes < 0 || limit.rlim_cur < static_cast<rlim_t>(bytes));
}

bool gives_huge_pages() noexcept {
  const char* const path = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
  return access(path, R_OK) == 0 && !has_any_of(path, "[never]", "[deny]");
}

bool gives_private_huge_pages() noexcept {
  return has_any_of("/sys/kernel/mm/transparent_hugepage/enabled", "[always]", "[always]");
}

std::int64_t memory_for_each_core() noexcept {
  const std::int64_t cores = std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L);
  const std::int64_t memory = sysconf(_SC_PHYS_PAGES) * std::int64_t{sysconf(_SC_PAGESIZE)};
  const std::int64_t limit = group_memory_limit();
  return (limit == 0 ? memory : std::min(memory, limit)) / cores;
}

}  // namespace strake::heap
