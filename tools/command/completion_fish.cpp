#include <fmt/format.h>

#include "command/completions.hpp"

namespace strake::command {
namespace {

constexpr const char* kFishBegin =
    R"(# How fish completes strake. Made by `strake completions fish`.
function __strake_in_job
    contains -- -- (commandline -opc)
end
function __strake_job
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    set -e words[1..$at]
    set -l last (commandline -ct)
    complete -C "$words $last"
end
function __strake_has
    not __strake_in_job; and __fish_seen_subcommand_from $argv
end
complete -c strake -f
)";

/// In single quotes of fish, and of zsh where these need no backslash.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_values_of(const Option& option) {
  if (!option.choices.empty()) return fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
  return option.is_file() ? " -r -F" : option.positional || option.value.empty() ? "" : " -x";
}

std::string line_of(const Option& option, const std::string& when, std::span<const Page> pages) {
  std::string out = "complete -c strake -n '" + when + "'";
  if (!option.positional) {
    for (const std::string& name : option.names)
      out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    return out + fish_values_of(option) + " -d " + quoted(option.help) + "\n";
  }
  if (option.value == "COMMAND") {
    for (const Page& page : pages.subspan(1)) {
      out += fmt::format("{}{}", page.name == pages[1].name ? " -a '" : " ", page.name);
    }
    return out + "'\n";
  }
  const std::string values = fish_values_of(option);
  return values.empty() ? "" : out + values + "\n";
}

}  // namespace

std::string fish_completion(std::span<const Page> pages) {
  std::string out = kFishBegin;
  for (const Page& page : pages) {
    if (!page.name.empty()) {
      out += fmt::format("complete -c strake -n __fish_use_subcommand -a {} -d {}\n", page.name,
                         quoted(page.help));
    }
    const std::string when =
        page.name.empty() ? "__fish_use_subcommand" : "__strake_has " + page.name;
    for (const Option& option : page.options) out += line_of(option, when, pages);
    if (page.takes_job != TakesJob::No) {
      out += fmt::format(
          "complete -c strake -n '__fish_seen_subcommand_from {}; and __strake_in_job' -a "
          "'(__strake_job)'\n",
          page.name);
    }
  }
  return out;
}

}  // namespace strake::command
