#include "command/roff.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <sstream>
#include <vector>

namespace strake::command {
namespace {

/// The character that begins at `at`, which moves behind it.
std::uint32_t next_character(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  std::uint32_t code = first & (0x3fU >> static_cast<unsigned>(more));
  for (int i = 0; i < more && at < text.size(); ++i)
    code = code << 6U | (static_cast<unsigned char>(text[at++]) & 0x3fU);
  return code;
}

/// Markdown inside a line: code in bold, links as their text.
std::string inline_text(std::string_view text) {
  std::string out;
  bool code = false;
  std::size_t from = 0;
  const auto flush = [&](std::size_t to) { out += roff_text(text.substr(from, to - from)); };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '`') {
      flush(at);
      code = !code;
      out += code ? "\\fB" : "\\fR";
      from = at + 1;
    } else if (!code && text[at] == '[') {
      const std::size_t middle = text.find("](", at);
      const std::size_t end = text.find(')', middle == std::string_view::npos ? at : middle);
      if (middle == std::string_view::npos || end == std::string_view::npos) continue;
      flush(at);
      out += inline_text(text.substr(at + 1, middle - at - 1));
      from = end + 1;
      at = end;
    } else if (!code && text.substr(at, 2) == "\\|") {  // a bar inside a table
      flush(at);
      from = at + 1;
    }
  }
  flush(text.size());
  return out;
}

/// The cells of a table's row.
std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::size_t begin = 1;
  for (std::size_t at = 1; at < row.size(); ++at) {
    if (row[at] != '|' || row[at - 1] == '\\') continue;
    const std::string cell = row.substr(begin, at - begin);
    const std::size_t first = cell.find_first_not_of(' ');
    cells.push_back(first == std::string::npos
                        ? ""
                        : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
    begin = at + 1;
  }
  return cells;
}

class Converter {
 public:
  void add(const std::string& line) {
    const bool table = line.starts_with('|');
    if (!table) heads_.clear();
    if (line.starts_with("```")) {
      fenced_ = !fenced_;
      literal(fenced_);
    } else if (fenced_ || (line.starts_with("    ") && !in_item_)) {
      literal(true);
      out_ += roff_text(line.substr(fenced_ ? 0 : 4)) + "\n";
    } else if (line.empty()) {
      empty_ = true;
    } else if (table) {
      row(line);
    } else {
      text(line);
    }
  }
  std::string end() {
    literal(false);
    return std::move(out_);
  }

 private:
  void literal(bool on) {
    if (on == literal_) return;
    if (on) break_paragraph();
    out_ += on ? ".RS 4\n.nf\n" : ".fi\n.RE\n";
    literal_ = on;
  }
  void break_paragraph() {
    if (empty_ && !out_.empty()) out_ += ".PP\n";
    empty_ = false;
  }
  void text(const std::string& line) {
    if (!line.starts_with("  ") && empty_) in_item_ = false;
    literal(false);
    if (line.starts_with("* ")) {
      empty_ = false;
      in_item_ = true;
      out_ += ".IP \\(bu 2\n" + inline_text(line.substr(2)) + "\n";
    } else if (line.starts_with("#")) {
      empty_ = false;
      out_ += ".SS " + inline_text(line.substr(line.find(' ') + 1)) + "\n";
    } else {
      break_paragraph();
      out_ += inline_text(line.substr(line.find_first_not_of(' '))) + "\n";
    }
  }
  void row(const std::string& line) {
    literal(false);
    empty_ = true;
    const std::vector<std::string> cells = cells_of(line);
    if (heads_.empty()) {
      heads_ = cells;
    } else if (line[1] != '-' && line[1] != ':' && heads_[0] != "Option") {
      out_ += ".TP\n" + inline_text(cells[0]) + "\n";
      for (std::size_t i = 1; i < cells.size(); ++i) {
        const std::string head = cells.size() > 2 ? heads_[i] + ": " : "";
        out_ += inline_text(head + cells[i]) + (i + 1 < cells.size() ? ";\n" : "\n");
      }
    }
  }

  std::string out_;
  std::vector<std::string> heads_;  // of the table that is being read
  bool fenced_ = false;
  bool literal_ = false;
  bool in_item_ = false;
  bool empty_ = false;  // an empty line, or a table, came before
};

}  // namespace

std::string roff_text(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t c = next_character(text, at);
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if ((c == '.' || c == '\'') && out.empty()) {
      out += "\\&";
      out += static_cast<char>(c);
    } else if (c < 0x80) {
      out += static_cast<char>(c);
    } else {
      out += fmt::format("\\[u{:04X}]", c);
    }
  }
  return out;
}

std::string roff_of_markdown(std::string_view text) {
  Converter converter;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) converter.add(line);
  return converter.end();
}

}  // namespace strake::command
