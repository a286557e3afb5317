/// \file  Help for people, in lines of at most 100 columns, and `strake help`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "command/tree.hpp"

namespace strake::command {

/// Text of `--help` for `page`, one of `pages`.
[[nodiscard]] std::string help_text(const Page& page, std::span<const Page> pages);

/// The commands and what they do, a line each.
[[nodiscard]] std::string command_list(std::span<const Page> pages);

/// Adds `strake help [COMMAND]`. `all` are all commands, by the time that this one runs.
[[nodiscard]] Command help_command(CLI::App& parent, const std::vector<Command>& all);

}  // namespace strake::command
