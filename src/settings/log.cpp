#include "settings/log.hpp"

#include <cstdio>
#include <string>

#include "settings/settings.hpp"

namespace strake::log {
namespace {

/// The most detailed level that STRAKE_LOG lets through, and -1 for "off".
int threshold() noexcept {
  static const int level = [] {
    const std::string_view name = settings::text(settings::Id::log);
    if (name == "error") return static_cast<int>(Level::Error);
    if (name == "warn") return static_cast<int>(Level::Warn);
    if (name == "info") return static_cast<int>(Level::Info);
    if (name == "debug") return static_cast<int>(Level::Debug);
    return -1;
  }();
  return level;
}

std::string_view name_of(Level level) noexcept {
  switch (level) {
    case Level::Error:
      return "error";
    case Level::Warn:
      return "warning";
    case Level::Info:
      return "info";
    case Level::Debug:
      break;
  }
  return "debug";
}

}  // namespace

bool enabled(Level level) noexcept { return static_cast<int>(level) <= threshold(); }

void write(Level level, std::string_view line) noexcept {
  try {
    const std::string whole = fmt::format("strake {}: {}\n", name_of(level), line);
    // In one call, so that no other thread's output comes in between.
    static_cast<void>(std::fwrite(whole.data(), 1, whole.size(), stderr));
  } catch (...) {
    // Out of memory: a lost line must not end the program.
  }
}

}  // namespace strake::log
