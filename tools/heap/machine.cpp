#include "machine.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace strake::heap {
namespace {

/// The first bytes of a file, as text. False: there are none.
template <std::size_t kBytes>
bool read_file(const char* path, char (&text)[kBytes]) noexcept {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t got = read(file, text, kBytes - 1);
  close(file);
  text[got > 0 ? got : 0] = '\0';
  return got > 0;
}

bool has_any_of(const char* path, const char* first, const char* second) noexcept {
  char text[128];
  return read_file(path, text) &&
         (std::strstr(text, first) != nullptr || std::strstr(text, second) != nullptr);
}

/// The least limit of the group at `path` below `root`, and of those that it is in. [bytes]
std::int64_t least_limit(const char* root, const char* path, const char* file) noexcept {
  char folder[PATH_MAX];
  char name[PATH_MAX + 64];
  char text[32];
  std::int64_t least = INT64_MAX;
  std::snprintf(folder, sizeof(folder), "%s", path);
  for (char* slash = folder + std::strlen(folder); slash != nullptr;
       slash = std::strrchr(folder, '/')) {
    *slash = '\0';
    std::snprintf(name, sizeof(name), "%s%s/%s", root, folder, file);
    if (!read_file(name, text) || text[0] < '0' || text[0] > '9') continue;
    least = std::min<std::int64_t>(least, std::strtoll(text, nullptr, 10));
  }
  return least;
}

/// The limit of this process's control group, of either version of them. [bytes]
std::int64_t group_limit() noexcept {
  char groups[4096];
  if (!read_file("/proc/self/cgroup", groups)) return INT64_MAX;
  std::int64_t least = INT64_MAX;
  for (char* line = groups; line != nullptr && *line != '\0';) {
    char* const end = std::strchr(line, '\n');
    if (end != nullptr) *end = '\0';
    char* const kind = std::strchr(line, ':');
    char* const path = kind == nullptr ? nullptr : std::strchr(kind + 1, ':');
    if (path != nullptr && path == kind + 1)
      least = std::min(least, least_limit("/sys/fs/cgroup", path + 1, "memory.max"));
    if (path != nullptr && std::strncmp(kind, ":memory:", 8) == 0)
      least =
          std::min(least, least_limit("/sys/fs/cgroup/memory", path + 1, "memory.limit_in_bytes"));
    line = end == nullptr ? nullptr : end + 1;
  }
  return least;
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
  return std::min(memory, group_limit()) / cores;
}

}  // namespace strake::heap
