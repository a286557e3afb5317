/// \file  Where Strake's words go: a line to standard error when STRAKE_LOG allows its level. The
/// library never prints.
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

/// The same of what is formatted for it: a line for which there is no memory is lost.
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
