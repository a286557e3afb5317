/// \file  `strake topo`: the parts of this machine, the links between them, and their measured
/// bandwidths.
#pragma once

#include <string>

#include "command/command.hpp"

namespace strake::topo {

struct Options {
  bool json = false;
  std::string svg;      ///< file to draw; empty: none
  std::string profile;  ///< file (JSON); empty: this machine's
};

/// The status of the command. \throws Error  a file can't be read or written
int run(const Options& options);

/// Adds `strake topo` to the parser.
[[nodiscard]] Command command(CLI::App& parent);

}  // namespace strake::topo
