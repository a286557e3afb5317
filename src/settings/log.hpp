/// \file  The log: each message is a line on standard error, if STRAKE_LOG allows its level. The
/// library prints nothing else.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace strake::log {

enum class Level : std::uint8_t { Error, Warn, Info, Debug };

[[nodiscard]] bool enabled(Level level) noexcept;
/// Writes one line. Never throws.
void write(Level level, std::string_view line) noexcept;

/// Formats a line and writes it. If there is no memory for it, the line is lost.
template <typename... Args>
void format_line(Level level, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (!enabled(level)) return;
  try {
    write(level, fmt::format(format, std::forward<Args>(args)...));
  } catch (...) {
  }
}

template <typename... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) noexcept {
  format_line(Level::Warn, format, std::forward<Args>(args)...);
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) noexcept {
  format_line(Level::Info, format, std::forward<Args>(args)...);
}
template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) noexcept {
  format_line(Level::Debug, format, std::forward<Args>(args)...);
}

}  // namespace strake::log
