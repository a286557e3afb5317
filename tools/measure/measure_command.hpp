/// \file  `strake measure`: measures this machine, and keeps what it found.
#pragma once

#include <string>

#include "command/command.hpp"

namespace strake::measure {

struct Options {
  static constexpr int kQuickSeconds = 60;
  static constexpr int kFullSeconds = 900;
  static constexpr int kLeastSeconds = 20;
  bool quick = false;
  bool list = false;
  bool json = false;
  bool resume = false;
  int seconds = 0;     ///< at most; 0: kQuickSeconds or kFullSeconds
  std::string filter;  ///< regular expression; empty: all
  std::string output;  ///< empty: the machine's own profile
};

/// The exit status: 0; 1 where data arrived wrong or the profile could not be written; 2 where
/// `options` make no sense here (and a message on standard error).
[[nodiscard]] int run(const Options& options);

/// Adds `strake measure` to the parser.
[[nodiscard]] Command command(CLI::App& parent);

}  // namespace strake::measure
