#include "text_table.hpp"

#include <algorithm>
#include <string_view>

namespace strake {
namespace {

std::size_t letters_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // each letter's first byte
  }));
}

void add_line(std::string& text, std::string line, bool trimmed) {
  if (trimmed) line.erase(line.find_last_not_of(' ') + 1);
  text += line + '\n';
}

}  // namespace

TextTable::Widths TextTable::widths() const {
  Widths widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = columns_[i].width;
    if (width == 0)
      for (const Row& row : rows_)
        if (i < row.size()) width = std::max(width, letters_of(row[i]));
    widths.push_back(width);
  }
  return widths;
}

std::size_t TextTable::columns_that_fit(const Widths& widths, std::size_t begin,
                                        std::size_t letters) const {
  std::size_t used = columns_[0].gap + widths[0];
  std::size_t end = begin;
  while (end < widths.size() &&
         (end == begin || used + columns_[end].gap + widths[end] <= letters)) {
    used += columns_[end].gap + widths[end];
    ++end;
  }
  return end;
}

std::string TextTable::line(const Row& row, const Widths& widths, std::size_t begin,
                            std::size_t end) const {
  std::string line;
  for (std::size_t i = 0; i < std::min(end, row.size()); i = i == 0 ? begin : i + 1) {
    const Column& column = columns_[i];
    const std::size_t letters = letters_of(row[i]);
    const std::string blanks(widths[i] - std::min(widths[i], letters), ' ');
    line.append(column.gap, ' ');
    if (column.align == Align::Right) line += blanks;
    line += row[i];
    if (i == 0 && letters > widths[i]) {
      line += '\n';
      line.append(column.gap + widths[i], ' ');
    }
    if (column.align == Align::Left && i + 1 < columns_.size()) line += blanks;
  }
  return line;
}

std::vector<std::string> TextTable::lines() const {
  const Widths all = widths();
  std::vector<std::string> lines;
  lines.reserve(rows_.size());
  for (const Row& row : rows_) lines.push_back(line(row, all, 1, columns_.size()));
  return lines;
}

std::string TextTable::text(bool trimmed) const {
  std::string text;
  for (std::string& line : lines()) add_line(text, std::move(line), trimmed);
  return text;
}

std::string TextTable::text_within(std::size_t letters) const {
  if (columns_.size() < 2) return this->text();
  const Widths all = widths();
  std::string text;
  for (std::size_t begin = 1; begin < columns_.size();) {
    const std::size_t end = columns_that_fit(all, begin, letters);
    if (begin > 1) text += '\n';
    for (const Row& row : rows_) add_line(text, line(row, all, begin, end), true);
    begin = end;
  }
  return text;
}

}  // namespace strake
