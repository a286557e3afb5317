#include <fmt/format.h>

#include "command/completions.hpp"

namespace strake::command {
namespace {

/// Text inside a word of zsh's _arguments: brackets and colons have a meaning there.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out;
}

std::string action_of(const Option& option) {
  if (option.value == "COMMAND") return "->command";
  if (!option.choices.empty()) return fmt::format("({})", fmt::join(option.choices, " "));
  return option.is_file() ? "_files" : " ";
}

void add(std::string& out, const Option& option) {
  if (option.positional) {
    out += fmt::format(" \\\n        '{}:{}:{}'", option.many ? "*" : "", option.value,
                       action_of(option));
    return;
  }
  for (const std::string& name : option.names) {
    out += fmt::format(" \\\n        '{}[{}]", name, escaped(option.help));
    if (!option.value.empty()) out += fmt::format(":{}:{}", option.value, action_of(option));
    out += "'";
  }
}

}  // namespace

std::string zsh_completion(std::span<const Page> pages) {
  std::string out =
      "#compdef strake\n# How zsh completes strake. Made by `strake completions zsh`.\n"
      "_strake() {\n"
      "  local curcontext=$curcontext state line\n"
      "  # What follows -- is a command of its own.\n"
      "  local -i dashes=${words[(ie)--]}\n"
      "  if (( dashes < CURRENT )); then\n"
      "    words=(\"${(@)words[dashes+1,-1]}\")\n"
      "    (( CURRENT -= dashes ))\n"
      "    _normal\n"
      "    return\n"
      "  fi\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const Page& page : pages.subspan(1))
    out += fmt::format("    '{}:{}'\n", page.name, escaped(page.help));
  out += "  )\n  _arguments -C";
  for (const Option& option : pages[0].options) add(out, option);
  out +=
      " \\\n        '1: :->command' '*:: :->arguments'\n"
      "  if [[ $state == arguments ]]; then\n    state=\n    case $words[1] in\n";
  for (const Page& page : pages.subspan(1)) {
    out += fmt::format("      {}) _arguments", page.name);
    for (const Option& option : page.options) add(out, option);
    if (page.takes_job != TakesJob::No) out += " \\\n        '*: :(--)'";
    out += " ;;\n";
  }
  out +=
      "    esac\n  fi\n"
      "  [[ $state != command ]] || _describe -t commands command commands\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _strake ]; then\n  _strake \"$@\"\nelse\n"
      "  compdef _strake strake\nfi\n";
  return out;
}

}  // namespace strake::command
