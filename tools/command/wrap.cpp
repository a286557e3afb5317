#include "command/wrap.hpp"

#include <algorithm>

namespace strake::command {
namespace {

/// Characters of UTF-8 text.
std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1U : 0U;
  return width;
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent, std::size_t used) {
  std::string out;
  std::size_t column = used;
  bool first = true;  // of its line
  while (!text.empty()) {
    if (text.front() == '\n') {
      out += '\n' + std::string(indent, ' ');
      column = indent;
      first = true;
      text.remove_prefix(1);
      continue;
    }
    // Blanks stay with the word behind them.
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!first && column + begin + width_of(word) > kColumns) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else {
      out.append(begin, ' ');
      column += begin;
    }
    out += word;
    column += width_of(word);
    first = false;
    text.remove_prefix(end);
  }
  return out;
}

}  // namespace strake::command
