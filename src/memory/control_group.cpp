#include "memory/control_group.hpp"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "memory/small_file.hpp"

namespace strake {
namespace {

constexpr const char* kRoot = "/sys/fs/cgroup";

/// Whether a list of names that commas separate has the name; an empty list has the empty one.
bool has_name(std::string_view list, std::string_view name) noexcept {
  for (;;) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

/// The path of the group in a line of /proc/self/cgroup: "0::/path" is version 2,
/// "4:memory:/path" version 1. Empty: the line is of other controllers.
std::string_view path_in(std::string_view line, std::string_view controller) noexcept {
  const std::size_t first = line.find(':');
  const std::size_t second = line.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return {};
  const std::string_view names(line.data() + first + 1, second - first - 1);
  if (!has_name(names, controller)) return {};
  return {line.data() + second + 1, line.size() - second - 1};
}

}  // namespace

void visit_group_folders(const char* controller, void (*visit)(const char* folder, void* data),
                         void* data) noexcept {
  char groups[8192] = {};
  (void)read_text("/proc/self/cgroup", groups);
  std::string_view path;
  for (std::string_view rest = groups; !rest.empty() && path.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    path = path_in(line, controller);
    rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : line.size());
  }
  char folder[PATH_MAX];
  const int root = std::snprintf(folder, sizeof(folder), "%s%s%s", kRoot,
                                 controller[0] == '\0' ? "" : "/", controller);
  std::snprintf(folder + root, sizeof(folder) - static_cast<std::size_t>(root), "%.*s",
                path.size() > 1 ? static_cast<int>(path.size()) : 0, path.data());
  for (;;) {
    visit(folder, data);
    char* const last = std::strrchr(folder + root, '/');
    if (last == nullptr) return;
    *last = '\0';
  }
}

std::int64_t group_memory_limit() noexcept {
  std::int64_t least = 0;
  const auto look_for = [&least](const char* file) {
    return [&least, file](const char* folder) {
      char name[PATH_MAX + 64];
      char text[32];
      std::snprintf(name, sizeof(name), "%s/%s", folder, file);
      const std::int64_t limit = read_text(name, text) ? std::atoll(text) : 0;  // "max" is none
      if (limit > 0 && (least == 0 || limit < least)) least = limit;
    };
  };
  for_group_folders("", look_for("memory.max"));
  for_group_folders("memory", look_for("memory.limit_in_bytes"));
  return least;
}

}  // namespace strake
