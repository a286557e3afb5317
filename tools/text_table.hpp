/// \file  Tables as lines of text, for the commands and the benchmarks.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace strake {

/// Rows of cells, the first of them the headings, with their columns in line. Cells are UTF-8; a
/// letter counts once, however many bytes it has.
class TextTable {
 public:
  enum class Align { Left, Right };
  struct Column {
    Align align = Align::Left;
    std::size_t gap = 2;    ///< blanks before the column
    std::size_t width = 0;  ///< 0: as wide as its longest cell
  };
  using Row = std::vector<std::string>;

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Adds a row. Its last cells may be missing: the line ends before them.
  void add(Row cells) { rows_.push_back(std::move(cells)); }
  /// Whether there is any row but the headings.
  [[nodiscard]] bool has_entries() const noexcept { return rows_.size() > 1; }

  /// By row: its line, without a line's end. A first cell that is longer than a given width of its
  /// column has a line to itself before it. The last column has no blanks after its cells.
  [[nodiscard]] std::vector<std::string> lines() const;
  /// All lines, each with its end; `trimmed`: without blanks before it.
  [[nodiscard]] std::string text(bool trimmed = true) const;
  /// As text(), in lines of so many letters at most: columns for which there is no room stand
  /// below, after an empty line and beside the first column again. One column beside the first is
  /// always shown.
  [[nodiscard]] std::string text_within(std::size_t letters) const;

 private:
  using Widths = std::vector<std::size_t>;
  [[nodiscard]] Widths widths() const;
  [[nodiscard]] std::size_t columns_that_fit(const Widths& widths, std::size_t begin,
                                             std::size_t letters) const;
  /// The first column, and those from `begin` to before `end`.
  [[nodiscard]] std::string line(const Row& row, const Widths& widths, std::size_t begin,
                                 std::size_t end) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace strake
