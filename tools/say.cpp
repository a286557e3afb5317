#include "say.hpp"

#include <cstdio>

#include "colour.hpp"

namespace strake {

void say_text(const std::string& text) {
  const std::size_t end = text.find(':');
  const bool named = text.starts_with("strake") && end < text.find('\n');
  const std::string head = named ? text.substr(0, end + 1) : "";
  std::fputs((coloured(head, Colour::Red, stderr) + text.substr(head.size())).c_str(), stderr);
}

}  // namespace strake
