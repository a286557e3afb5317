#include "command/man.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <fstream>
#include <memory>

#include "command/not_empty.hpp"
#include "command/roff.hpp"
#include "command/unknown.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::command {
namespace {

std::string file_name(const Page& page) {
  return page.name.empty() ? "strake" : "strake-" + page.name;
}

std::string entry(const std::string& tag, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", tag, roff_text(text));
}

std::string entry_of(const Option& option) {
  std::string tag;
  for (const std::string& name : option.names)
    tag += fmt::format("{}\\fB{}\\fR", tag.empty() ? "" : ", ", roff_text(name));
  const std::string value =
      option.choices.empty() ? option.value : fmt::format("{}", fmt::join(option.choices, "|"));
  if (!option.positional && !value.empty()) tag += fmt::format(" \\fI{}\\fR", roff_text(value));
  std::string text = option.help;
  if (option.positional && !option.choices.empty()) text += ": " + value;
  if (!option.default_value.empty()) text += fmt::format(" (default: {})", option.default_value);
  return entry(tag, text);
}

std::string section(const std::string& name, const std::string& body) {
  return body.empty() ? "" : fmt::format(".SH {}\n{}", name, body);
}

std::string settings_list() {
  std::string out;
  for (const settings::Setting& setting : settings::all()) {
    std::string text = setting.help;
    if (*setting.default_value != '\0')
      text += fmt::format(" (default: {})", setting.default_value);
    out += entry(fmt::format("\\fB{}\\fR", setting.name), text);
  }
  return out;
}

/// \throws Error  a file can't be written
void write_all(const std::string& folder, std::span<const Page> pages) {
  for (const Page& page : pages) {
    const std::string path = fmt::format("{}/{}.1", folder, file_name(page));
    std::ofstream file(path, std::ios::binary);
    file << man_page(page, pages);
    file.close();
    if (!file) throw Error(fmt::format("{} can't be written", path));
  }
}

}  // namespace

std::string man_page(const Page& page, std::span<const Page> pages) {
  std::string title = file_name(page);
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string out =
      fmt::format(".TH {} 1 \"\" \"strake {}\" \"Strake\"\n", roff_text(title), STRAKE_VERSION);
  out +=
      section("NAME", fmt::format("{} \\- {}\n", roff_text(file_name(page)), roff_text(page.help)));
  const std::string usage = page.usage();
  const std::size_t name = page.full_name().size();
  out += section("SYNOPSIS",
                 fmt::format("\\fB{}\\fR{}\n", page.full_name(), roff_text(usage.substr(name))));
  const std::string_view prose = prose_of(page.name);
  out += section("DESCRIPTION",
                 prose.empty() ? roff_text(page.help) + ".\n" : roff_of_markdown(prose));
  std::string arguments;
  std::string options;
  std::string commands;
  for (const Option& option : page.options)
    (option.positional ? arguments : options) += entry_of(option);
  if (page.name.empty()) {
    for (const Page& other : pages.subspan(1))
      commands += entry(fmt::format("\\fB{}\\fR(1)", roff_text(file_name(other))), other.help);
  }
  out +=
      section("COMMANDS", commands) + section("ARGUMENTS", arguments) + section("OPTIONS", options);
  if (page.name.empty()) return out + section("ENVIRONMENT", settings_list());
  return out + section("SEE ALSO", "\\fBstrake\\fR(1)\n");
}

Command man_command(CLI::App& parent, const std::vector<Command>& all) {
  struct Options {
    std::string command;
    std::string folder;
  };
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("man", "Print the manual page of a command (roff)");
  app->footer(
      "Where Strake is installed, man strake and man strake-run show them. Otherwise: strake man "
      "run "
      "| man -l -");
  CLI::Option* one = app->add_option("COMMAND", options->command,
                                     "Name of a command; without it, the page of strake itself");
  app->add_option("--all", options->folder, "Write the pages of all commands into this folder")
      ->type_name("FOLDER")
      ->check(not_empty())
      ->excludes(one);
  return {app, [options, &all](const auto&) {
            const std::vector<Page> pages = pages_of(all);
            if (options->folder.empty()) {
              fmt::print("{}", man_page(known_page(pages, options->command), pages));
            } else {
              write_all(options->folder, pages);
            }
            return 0;
          }};
}

}  // namespace strake::command
