/// \file  `strake topo`: the parts of this machine, the links between them, and their measured
/// bandwidths.
#pragma once

#include <optional>
#include <string>

#include "command/command.hpp"

namespace strake::topo {

struct Options {
  bool json = false;
  std::string svg;                ///< file to draw; empty: none
  std::string profile;            ///< file (JSON); empty: this machine's
  std::string machine_file;       ///< file to write for `strake plan --machine`; empty: none
  std::optional<double> nic_gbs;  ///< there, what leaves a node
};

/// The status of the command. \throws Error  a file can't be read or written; a machine file lacks
/// a number
int run(const Options& options);

/// Adds `strake topo` to the parser.
[[nodiscard]] Command command(CLI::App& parent);

}  // namespace strake::topo
