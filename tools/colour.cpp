#include "colour.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace strake {

bool has_colour(std::FILE* stream) {
  const char* const refused = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return (refused == nullptr || *refused == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb" && isatty(fileno(stream)) == 1;
}

std::string coloured(std::string_view text, Colour colour, std::FILE* stream) {
  if (text.empty() || !has_colour(stream)) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", static_cast<int>(colour), text);
}

}  // namespace strake
