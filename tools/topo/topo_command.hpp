/// \file  `strake topo`: the parts of this machine, the links between them, and their measured
/// bandwidths.
#pragma once

#include <string>

namespace strake::topo {

struct Options {
  bool json = false;
  std::string svg;      ///< file to draw; empty: none
  std::string profile;  ///< file (JSON); empty: this machine's
};

/// The status of the command. \throws Error  a file can't be read or written
int run(const Options& options);

}  // namespace strake::topo
