/// \file  The command as data, read from its parser: what help, completions and man pages are made
/// of.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "command/command.hpp"

namespace strake::command {

struct Option {
  std::vector<std::string> names;  ///< with their dashes, short ones first; a positional's name
  std::string value;               ///< "FILE"; empty: a flag
  std::vector<std::string> choices;
  std::string help;
  std::string default_value;  ///< empty: none that is worth showing
  bool positional = false;
  bool required = false;
  bool many = false;  ///< takes any number of values

  [[nodiscard]] bool is_file() const {
    return value.ends_with("FILE") || value.ends_with("FILES") || value.ends_with("FOLDER");
  }
};

struct Page {
  std::string name;  ///< "run"; empty: that of strake itself
  std::string help;  ///< one line
  std::string more;  ///< text behind the options
  std::vector<Option> options;
  TakesJob takes_job = TakesJob::No;

  /// "strake run".
  [[nodiscard]] std::string full_name() const { return name.empty() ? "strake" : "strake " + name; }
  /// "strake run [OPTIONS] -- COMMAND...".
  [[nodiscard]] std::string usage() const;
};

/// The page of strake itself first, then those of its commands, in their order.
[[nodiscard]] std::vector<Page> pages_of(std::span<const Command> commands);

/// The page of this name, or null.
[[nodiscard]] const Page* page_named(std::span<const Page> pages, const std::string& name);

}  // namespace strake::command
