/// \file  Messages of the commands on standard error.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace strake {

/// Writes to standard error; "strake run:" at the beginning is coloured. If that can't be written,
/// does nothing (fmt::print would throw).
void say_text(const std::string& text);

template <typename... Values>
void say(fmt::format_string<Values...> text, Values&&... values) {
  say_text(fmt::format(text, std::forward<Values>(values)...));
}

}  // namespace strake
