/// \file  `strake report`: profiles as a page.
#pragma once

#include <string>
#include <vector>

#include "command/command.hpp"

namespace strake::report {

struct Options {
  std::vector<std::string> profiles;   ///< files; empty: this machine's
  std::string output = "report.html";  ///< "-": standard output
  std::string title;                   ///< empty: made from the hosts
};

/// The status of the command.
/// \throws Error  a file can't be read or written, with its name and the place in it
int run(const Options& options);

/// Adds `strake report` to the parser.
[[nodiscard]] Command command(CLI::App& parent);

}  // namespace strake::report
