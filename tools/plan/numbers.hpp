/// \file  Numbers along axes, as options have them: "512x256x256".
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace strake::plan {

/// One number or more, x between them. \throws CLI::ValidationError  another form than `example`
template <typename Number>
[[nodiscard]] std::vector<Number> numbers_of(const std::string& option, const std::string& text,
                                             const char* example) {
  std::vector<Number> made;
  std::string_view rest = text;
  for (;;) {
    const char* const end = rest.data() + rest.size();
    Number number{};
    const auto [next, error] = std::from_chars(rest.data(), end, number);
    if (error != std::errc()) break;
    made.push_back(number);
    if (next == end) return made;
    if (*next != 'x') break;
    rest.remove_prefix(static_cast<std::size_t>(next - rest.data()) + 1);
  }
  throw CLI::ValidationError(option, fmt::format("{} is not of the form {}", text, example));
}

}  // namespace strake::plan
