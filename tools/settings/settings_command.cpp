#include "settings_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "command/wrap.hpp"
#include "settings/settings.hpp"
#include "text_table.hpp"

namespace strake::settings_command {
namespace {

using settings::Kind;
using settings::Setting;

std::string or_nothing(std::string_view value) {
  return value.empty() ? "(nothing)" : std::string(value);
}

/// Which values it takes, in words.
std::string values_of(const Setting& setting) {
  std::string choices = setting.choices;
  switch (setting.kind) {
    case Kind::Flag:
      return "0 or 1";
    case Kind::Text:
      return "text";
    case Kind::Choice:
      for (std::size_t at = 0; (at = choices.find('|', at)) != std::string::npos; at += 2)
        choices.replace(at, 1, ", ");
      return choices;
    case Kind::Number:
    case Kind::Bytes:
      break;
  }
  choices.replace(choices.find(".."), 2, " to ");
  return choices + (setting.kind == Kind::Bytes ? " bytes" : "");
}

const char* source_of(const Setting& setting) {
  return setting.from_environment ? "environment" : "default";
}

}  // namespace

std::string to_text() {
  TextTable table({{.gap = 0}, {}, {}, {}});
  table.add({"setting", "default", "value", "from"});
  for (const Setting& setting : settings::all())
    table.add({std::string(setting.name), or_nothing(setting.default_value),
               or_nothing(setting.value), source_of(setting)});
  const std::vector<std::string> lines = table.lines();
  std::string text = lines[0] + "\n";
  std::size_t row = 0;
  for (const Setting& setting : settings::all()) {
    text += lines[++row] + "\n";
    const std::string help = fmt::format("{} ({})", setting.help, values_of(setting));
    text += "    " + command::wrapped(help, 4, 4) + "\n";
  }
  return text;
}

nlohmann::ordered_json to_json() {
  auto json = nlohmann::ordered_json::array();
  for (const Setting& setting : settings::all()) {
    nlohmann::ordered_json entry;
    entry["name"] = setting.name;
    entry["default"] = setting.default_value;
    entry["value"] = setting.value;
    entry["source"] = source_of(setting);
    entry["values"] = values_of(setting);
    entry["since"] = setting.since;
    entry["help"] = setting.help;
    json.push_back(std::move(entry));
  }
  return json;
}

std::string to_markdown() {
  std::string text =
      "# Settings\n\n"
      "Environment variables, read once by each process. An unknown name or a wrong value is "
      "reported once a job, by\n"
      "rank 0, with the nearest valid one where there is one, and the default is used. `no`, `off` "
      "and `false` mean 0,\n"
      "`yes`, `on` and `true` 1.\n"
      "Bytes take K, M and G (binary). `strake settings` prints the values in force; `strake run` "
      "hands all of them on to\n"
      "the ranks, on every node.\n\n"
      "This page is made by `strake settings --markdown` from `src/settings/settings.def`.\n\n"
      "| Setting | Default | Values | Since | Meaning |\n"
      "|---|---|---|---|---|\n";
  for (const Setting& setting : settings::all()) {
    const std::string_view value = setting.default_value;
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", setting.name,
                        value.empty() ? "" : fmt::format("`{}`", value), values_of(setting),
                        setting.since, setting.help);
  }
  return text;
}

Command command(CLI::App& parent) {
  struct Options {
    bool json = false;
    bool markdown = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* app =
      parent.add_subcommand("settings", "List every setting, its default, and its value here");
  CLI::Option* as_json = app->add_flag("--json", options->json, "Print JSON");
  app->add_flag("--markdown", options->markdown, "Print the page of the documentation")
      ->excludes(as_json);
  return {app, [options](const auto&) {
            if (options->json) {
              // A value need not be UTF-8.
              fmt::print("{}\n",
                         to_json().dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
            } else {
              fmt::print("{}", options->markdown ? to_markdown() : to_text());
            }
            return 0;
          }};
}

}  // namespace strake::settings_command
