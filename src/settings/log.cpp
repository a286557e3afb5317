#include "settings/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

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

spdlog::level::level_enum to_spdlog(Level level) noexcept {
  switch (level) {
    case Level::Error:
      return spdlog::level::err;
    case Level::Warn:
      return spdlog::level::warn;
    case Level::Info:
      return spdlog::level::info;
    case Level::Debug:
      break;
  }
  return spdlog::level::debug;
}

/// Never destroyed, so that other libraries' destructors may still log.
spdlog::logger& logger() {
  static spdlog::logger& instance = [&]() -> spdlog::logger& {
    auto* made = new spdlog::logger("strake", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(spdlog::level::trace);  // enabled() has already decided
    made->set_pattern("strake %l: %v");
    made->flush_on(spdlog::level::trace);
    return *made;
  }();
  return instance;
}

}  // namespace

bool enabled(Level level) noexcept { return static_cast<int>(level) <= threshold(); }

void write(Level level, std::string_view line) noexcept {
  try {
    logger().log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
  } catch (...) {
    // Out of memory, or standard error is closed: a lost line must not end the program.
  }
}

}  // namespace strake::log
