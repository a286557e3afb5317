#include "command/tree.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace strake::command {
namespace {

/// The choices of a CLI::IsMember, which CLI11 shows as "TEXT:{host,pinned,device}".
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

Option option_of(const CLI::Option& given) {
  Option made;
  made.positional = given.get_positional();
  for (const std::string& name : given.get_snames()) made.names.push_back("-" + name);
  for (const std::string& name : given.get_lnames()) made.names.push_back("--" + name);
  const std::string type = given.get_type_name();
  made.choices = choices_in(type);
  if (made.positional) {
    made.value = given.get_name(true, false);
    made.names = {made.value};
  } else if (given.get_items_expected_max() > 0) {
    made.value = type.substr(0, type.find(':'));
  }
  made.help = given.get_description();
  made.default_value = made.value.empty() ? "" : given.get_default_str();
  made.required = given.get_required();
  made.many = given.get_expected_max() > 1;
  return made;
}

Page page_of(const CLI::App& app, TakesJob takes_job) {
  Page page{app.get_parent() == nullptr ? "" : app.get_name(),
            app.get_description(),
            app.get_footer(),
            {},
            takes_job};
  for (const CLI::Option* option : app.get_options()) page.options.push_back(option_of(*option));
  // -h,--help comes first from CLI11, and is of least interest.
  std::stable_partition(page.options.begin(), page.options.end(), [](const Option& option) {
    return option.names.back() != "--help" && option.names.back() != "--version";
  });
  return page;
}

}  // namespace

std::string Page::usage() const {
  if (name.empty()) return "strake COMMAND [OPTIONS]";
  std::string text = full_name();
  if (std::any_of(options.begin(), options.end(), [](const Option& option) {
        return !option.positional && option.names.back() != "--help";
      }))
    text += " [OPTIONS]";
  for (const Option& option : options) {
    if (!option.positional) continue;
    const std::string word = option.value + (option.many ? "..." : "");
    text += option.required ? " " + word : " [" + word + "]";
  }
  if (takes_job == TakesJob::Needs) text += " -- COMMAND...";
  if (takes_job == TakesJob::MayTake) text += " [-- COMMAND...]";
  return text;
}

std::vector<Page> pages_of(std::span<const Command> commands) {
  std::vector<Page> pages;
  if (commands.empty()) return pages;
  pages.push_back(page_of(*commands.front().app->get_parent(), TakesJob::No));
  for (const Command& command : commands) pages.push_back(page_of(*command.app, command.takes_job));
  return pages;
}

const Page* page_named(std::span<const Page> pages, const std::string& name) {
  const auto found =
      std::find_if(pages.begin(), pages.end(), [&](const Page& page) { return page.name == name; });
  return found == pages.end() ? nullptr : &*found;
}

}  // namespace strake::command
