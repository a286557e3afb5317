/// \file  Messages of the commands on standard error.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace strake {

/// Writes to standard error. If that can't be written, does nothing (fmt::print would throw).
template <typename... Values>
void say(fmt::format_string<Values...> text, Values&&... values) {
  std::fputs(fmt::format(text, std::forward<Values>(values)...).c_str(), stderr);
}

}  // namespace strake
