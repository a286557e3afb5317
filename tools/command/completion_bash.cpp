#include <fmt/format.h>

#include "command/completions.hpp"

namespace strake::command {
namespace {

constexpr const char* kBashBegin =
    R"(# How bash completes strake. Made by `strake completions bash`.
_strake_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }
_strake_files() {
  compopt -o filenames 2> /dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$word")
}
# What follows "--", at place $1, is a command of its own.
_strake_job() {
  if declare -F _command_offset > /dev/null; then
    _command_offset $(($1 + 1))
  elif ((COMP_CWORD == $1 + 1)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$word")
  else
    _strake_files
  fi
}
_strake() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case $command,${COMP_WORDS[i]} in
      *,--) _strake_job "$i"; return ;;
      ,-*) ;;
      ,*) command=${COMP_WORDS[i]} ;;
    esac
  done
  # bash splits --option=value at the "=".
  [ "$word" != = ] || word=
  [ "$before" != = ] || before=${COMP_WORDS[COMP_CWORD - 2]}
)";

constexpr const char* kEnd = R"(complete -F _strake strake
)";

/// The names that may begin with what was typed: commands and options.
std::string names_of(const Page& page, std::span<const Page> pages) {
  std::string names;
  if (page.name.empty()) {
    for (const Page& command : pages.subspan(1)) names += command.name + " ";
  }
  for (const Option& option : page.options) {
    if (!option.positional) names += fmt::format("{} ", fmt::join(option.names, " "));
  }
  if (page.takes_job != TakesJob::No) names += "-- ";
  if (!names.empty()) names.pop_back();
  return names;
}

/// The shell command that completes the value of an option.
std::string bash_values_of(const Option& option) {
  if (!option.choices.empty())
    return fmt::format("_strake_words '{}'", fmt::join(option.choices, " "));
  return option.is_file() ? "_strake_files" : ":";
}

/// The shell command that completes a word that is no option.
std::string words_of(const Page& page, std::span<const Page> pages) {
  for (const Option& option : page.options) {
    if (!option.positional) continue;
    if (option.value == "COMMAND") {
      std::string names;
      for (const Page& command : pages.subspan(1)) names += command.name + " ";
      return fmt::format("_strake_words '{}'", names);
    }
    return bash_values_of(option);
  }
  return fmt::format("_strake_words '{}'", names_of(page, pages));
}

}  // namespace

std::string bash_completion(std::span<const Page> pages) {
  std::string out = kBashBegin;
  out += "  case $command,$before in\n";
  for (const Page& page : pages) {
    for (const Option& option : page.options) {
      if (option.positional || option.value.empty()) continue;
      std::string patterns;
      for (const std::string& name : option.names)
        patterns += (patterns.empty() ? "" : " | ") + page.name + "," + name;
      out += fmt::format("    {}) {}; return ;;\n", patterns, bash_values_of(option));
    }
  }
  out += "  esac\n  case $command,$word in\n";
  for (const Page& page : pages) {
    out += fmt::format("    {},-*) _strake_words '{}' ;;\n", page.name, names_of(page, pages));
    out += fmt::format("    {},*) {} ;;\n", page.name, words_of(page, pages));
  }
  return out + "  esac\n}\n" + kEnd;
}

}  // namespace strake::command
