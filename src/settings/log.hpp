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

template <typename... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::Warn)) write(Level::Warn, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::Info)) write(Level::Info, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::Debug)) write(Level::Debug, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace strake::log
