#include "command/completions.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

namespace strake::command {

Command completions_command(CLI::App& parent, const std::vector<Command>& all) {
  auto shell = std::make_shared<std::string>();
  CLI::App* app = parent.add_subcommand("completions", "Print a script that completes in a shell");
  app->footer(
      "Where Strake is installed, the scripts are too. For one session: source <(strake "
      "completions bash), or the same with zsh; strake completions fish | source");
  app->add_option("SHELL", *shell, "The shell that it is for")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  return {app, [shell, &all](const auto&) {
            const std::vector<Page> pages = pages_of(all);
            fmt::print("{}", *shell == "bash"  ? bash_completion(pages)
                             : *shell == "zsh" ? zsh_completion(pages)
                                               : fish_completion(pages));
            return 0;
          }};
}

}  // namespace strake::command
