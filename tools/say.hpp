/// \file  What the commands tell people beside their output.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace strake {

/// To standard error. Where that can't be written, nothing ends for it (fmt::print would throw).
template <typename... Values>
void say(fmt::format_string<Values...> text, Values&&... values) {
  std::fputs(fmt::format(text, std::forward<Values>(values)...).c_str(), stderr);
}

}  // namespace strake
