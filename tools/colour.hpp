/// \file  Colour on a terminal. NO_COLOR with any value, TERM=dumb, and what is no terminal get
/// none.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace strake {

enum class Colour : int { Bold = 1, Red = 31, Green = 32, Yellow = 33 };

/// Whether text on this stream may be coloured.
[[nodiscard]] bool has_colour(std::FILE* stream);

/// `text` in a colour where `stream` has colours, else as it is.
[[nodiscard]] std::string coloured(std::string_view text, Colour colour, std::FILE* stream);

}  // namespace strake
