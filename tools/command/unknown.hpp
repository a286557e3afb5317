/// \file  Words of the command line that Strake does not know, and the ones that may have been
/// meant.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "command/tree.hpp"

namespace strake::command {

/// "xyz is not a command; did you mean run?", or, where none is near, behind it the list of all.
[[nodiscard]] std::string unknown_command(const std::string& word, std::span<const Page> pages);

/// "--jsno is not an option; did you mean --json?".
[[nodiscard]] std::string unknown_option(const std::string& word, const Page& page);

/// \throws InvalidArgument  there is no such command
[[nodiscard]] const Page& known_page(std::span<const Page> pages, const std::string& name);

}  // namespace strake::command
