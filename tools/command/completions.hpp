/// \file  `strake completions`: scripts by which shells complete the command.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "command/tree.hpp"

namespace strake::command {

/// \{ The script for a shell: subcommands, options, their choices and files, and the job after "--"
/// as a command of its own.
[[nodiscard]] std::string bash_completion(std::span<const Page> pages);
[[nodiscard]] std::string zsh_completion(std::span<const Page> pages);
[[nodiscard]] std::string fish_completion(std::span<const Page> pages);
/// \}

/// Adds `strake completions SHELL`. `all` are all commands, by the time that this one runs.
[[nodiscard]] Command completions_command(CLI::App& parent, const std::vector<Command>& all);

}  // namespace strake::command
