/// \file  A subcommand of `strake`. Each room of tools/ that has one adds it to the parser, and
/// hands main what runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}

namespace strake {

/// Whether a subcommand takes words after "--".
enum class TakesJob : std::uint8_t { No, MayTake, Needs };

struct Command {
  CLI::App* app = nullptr;  ///< its name, options and help
  /// Does what the parsed options ask for, and returns the exit status. `job` are the words after
  /// the first "--".
  /// \throws std::exception  main prints it behind the command's name
  std::function<int(const std::vector<std::string>& job)> run;
  TakesJob takes_job = TakesJob::No;
};

}  // namespace strake
