/// \file  Text for a terminal: lines of at most 100 columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace strake::command {

inline constexpr std::size_t kColumns = 100;

/// `text` broken between words, each line but the first behind `indent` blanks. `used`: columns
/// that the first line has already. A word longer than a line stays whole. Line ends stay.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t indent, std::size_t used);

}  // namespace strake::command
