#include "command/help.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "colour.hpp"
#include "command/unknown.hpp"
#include "command/wrap.hpp"

namespace strake::command {
namespace {

/// Where the texts of a list begin; longer names have theirs on the next line.
constexpr std::size_t kWidest = 26;

struct Row {
  std::string name;
  std::string text;
};

std::string list_of(const std::vector<Row>& rows) {
  std::size_t width = 0;
  for (const Row& row : rows) {
    if (row.name.size() <= kWidest) width = std::max(width, row.name.size());
  }
  const std::size_t indent = width + 4;
  std::string out;
  for (const Row& row : rows) {
    out += fmt::format("  {:{}}", row.name, width);
    out += row.name.size() > width ? "\n" + std::string(indent, ' ') : "  ";
    out += wrapped(row.text, indent, indent) + "\n";
  }
  return out;
}

Row row_of(const Option& option) {
  Row row{fmt::format("{}", fmt::join(option.names, ", ")), option.help};
  if (!option.positional && !option.value.empty()) {
    row.name += option.choices.empty() ? " " + option.value
                                       : fmt::format(" {}", fmt::join(option.choices, "|"));
  }
  if (option.positional && option.many) row.name += "...";
  if (option.positional && !option.choices.empty())
    row.text += fmt::format(": {}", fmt::join(option.choices, ", "));
  if (!option.default_value.empty())
    row.text += fmt::format(" (default: {})", option.default_value);
  return row;
}

std::string heading(const std::string& text) { return coloured(text, Colour::Bold, stdout) + "\n"; }

}  // namespace

std::string command_list(std::span<const Page> pages) {
  std::vector<Row> rows;
  for (const Page& page : pages.subspan(1)) rows.push_back({page.name, page.help});
  return list_of(rows);
}

std::string help_text(const Page& page, std::span<const Page> pages) {
  std::string out = fmt::format("{} {}\n\n{}\n", coloured("Usage:", Colour::Bold, stdout),
                                page.usage(), wrapped(page.help, 0, 0));
  std::vector<Row> arguments;
  std::vector<Row> options;
  for (const Option& option : page.options)
    (option.positional ? arguments : options).push_back(row_of(option));
  if (page.takes_job != TakesJob::No)
    arguments.push_back({"COMMAND...", "Such as mpirun -n 4 ./program"});
  if (page.name.empty()) out += "\n" + heading("Commands:") + command_list(pages);
  if (!arguments.empty()) out += "\n" + heading("Arguments:") + list_of(arguments);
  if (!options.empty()) out += "\n" + heading("Options:") + list_of(options);
  if (!page.more.empty()) out += "\n" + wrapped(page.more, 0, 0) + "\n";
  return out;
}

Command help_command(CLI::App& parent, const std::vector<Command>& all) {
  auto asked = std::make_shared<std::string>();
  CLI::App* app = parent.add_subcommand("help", "Show what a command does, and its options");
  app->add_option("COMMAND", *asked, "Name of a command; without it, all are listed");
  return {app, [asked, &all](const auto&) {
            const std::vector<Page> pages = pages_of(all);
            fmt::print("{}", help_text(known_page(pages, *asked), pages));
            return 0;
          }};
}

}  // namespace strake::command
