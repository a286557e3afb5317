/// \file  Pieces of HTML, which are well-formed XML too.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace strake::report {

/// `text` with XML's five reserved characters as entities, and characters that XML does not allow
/// (control characters) as U+FFFD.
[[nodiscard]] std::string escaped(std::string_view text);

/// A cell of a table with this text. `tip` is shown when the pointer rests there.
[[nodiscard]] std::string cell(std::string_view text, std::string_view tip = {},
                               std::string_view style = {});
/// `rows` is HTML. The table scrolls sideways where the page is too narrow for it.
[[nodiscard]] std::string table(std::string_view style, const std::vector<std::string>& head,
                                std::string_view rows);

/// A table of squares, block lengths by sizes. `cell_of(block, bytes)` is a cell; empty: a blank.
[[nodiscard]] std::string map_table(
    const std::set<std::int64_t>& blocks, const std::set<std::int64_t>& sizes,
    const std::function<std::string(std::int64_t, std::int64_t)>& cell_of);

/// A section. The text below the title and the body are HTML; without a body the section says that
/// nothing was measured.
[[nodiscard]] std::string section(std::string_view id, std::string_view title,
                                  std::string_view introduction, std::string_view body);
/// A section whose content is shown when its title is clicked.
[[nodiscard]] std::string folded_section(std::string_view id, std::string_view title,
                                         std::string_view introduction, std::string_view body);
/// A part of a section that is shown when its title is clicked. Empty if the body is.
[[nodiscard]] std::string folded(std::string_view title, std::string_view body);
/// Figures side by side; `style` "row maps": fewer of them, since tables of letters need room.
[[nodiscard]] std::string row_of(std::string_view figures, std::string_view style = "row");

}  // namespace strake::report
