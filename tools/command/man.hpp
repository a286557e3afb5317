/// \file  `strake man`: manual pages in roff.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "command/tree.hpp"

namespace strake::command {

/// strake.1 for the page of strake itself, strake-run.1 for that of `strake run`, …
[[nodiscard]] std::string man_page(const Page& page, std::span<const Page> pages);

/// Adds `strake man [COMMAND]`. `all` are all commands, by the time that this one runs.
[[nodiscard]] Command man_command(CLI::App& parent, const std::vector<Command>& all);

}  // namespace strake::command
