#include "report/report_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>

#include "report/page.hpp"
#include "report/profile_reader.hpp"
#include "strake/error.hpp"

namespace strake::report {

int run(const Options& options) {
  std::vector<Shown> profiles;
  for (const std::string& path : options.profiles) profiles.push_back(read_profile(path));
  std::string hosts;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const std::string& host = profiles[i].profile.host;
    // A, B, … Z, A2, …
    std::string letter(1, static_cast<char>('A' + i % 26));
    if (i >= 26) letter += std::to_string(i / 26 + 1);
    profiles[i].label = profiles.size() > 1 ? letter + ": " + host : host;
    hosts += (i == 0 ? "" : ", ") + host;
  }
  const std::string html =
      page(options.title.empty() ? "Strake's measurements of " + hosts : options.title, profiles);
  if (options.output == "-") {
    fmt::print("{}", html);
    return 0;
  }
  std::ofstream file(options.output, std::ios::binary);
  file << html;
  file.close();
  if (!file) throw Error(fmt::format("{} can't be written", options.output));
  fmt::print("{}: {} profile{}, {} KiB\n", options.output, profiles.size(),
             profiles.size() == 1 ? "" : "s", html.size() / 1024);
  return 0;
}

Command command(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("report", "Make a page with plots from profiles");
  app->add_option("PROFILE", options->profiles, "Profiles of strake measure (JSON)")->required();
  app->add_option("-o,--output", options->output, "The page; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  app->add_option("--title", options->title, "Its title")->type_name("TEXT");
  return {app, [options](const auto&) { return run(*options); }};
}

}  // namespace strake::report
