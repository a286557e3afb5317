#include "command/unknown.hpp"

#include <fmt/format.h>

#include <string_view>

#include "command/help.hpp"
#include "settings/settings_table.hpp"
#include "strake/error.hpp"

namespace strake::command {
namespace {

std::string meant(const std::string& word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string_view near = settings::nearest(word, names);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

}  // namespace

std::string unknown_command(const std::string& word, std::span<const Page> pages) {
  std::vector<std::string> names;
  for (const Page& page : pages.subspan(1)) names.push_back(page.name);
  const std::string near = meant(word, names);
  return fmt::format("{} is not a command{}", word,
                     near.empty() ? "; commands are\n" + command_list(pages) : near);
}

std::string unknown_option(const std::string& word, const Page& page) {
  std::vector<std::string> names;
  for (const Option& option : page.options) {
    if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return fmt::format("{} is not an option{}", word, meant(word, names));
}

const Page& known_page(std::span<const Page> pages, const std::string& name) {
  if (const Page* page = page_named(pages, name)) return *page;
  std::string message = unknown_command(name, pages);
  if (message.ends_with('\n')) message.pop_back();
  throw InvalidArgument(message);
}

}  // namespace strake::command
