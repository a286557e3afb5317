/// \file  Text for manual pages.
#pragma once

#include <string>
#include <string_view>

namespace strake::command {

/// `text` with what roff would read as its own escaped.
[[nodiscard]] std::string roff_text(std::string_view text);

/// A part of a page of the documentation (Markdown: paragraphs, lists, code, tables, links) in
/// roff. Tables of options are left out: the parser has them.
[[nodiscard]] std::string roff_of_markdown(std::string_view text);

/// The part of docs' page of the command below the heading "## strake NAME"; with an empty name,
/// what is above the first such heading. Empty where there is none.
[[nodiscard]] std::string_view prose_of(std::string_view name);

}  // namespace strake::command
