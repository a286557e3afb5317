#include "report/report_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "machine/profile_state.hpp"
#include "report/page.hpp"
#include "report/profile_reader.hpp"
#include "say.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::report {
namespace {

/// This machine's profile: the JSON beside the compact form, which has more, or else that form.
/// `path` becomes the file's.
/// \throws Error  there is none, with the command that makes one
Shown own_profile(std::string& path) {
  const machine::Located located = machine::locate(
      settings::text(settings::Id::profile), machine::profile_folder(), machine::machine_key());
  if (!located.profile) {
    const machine::ProfileState state = machine::state_of(located);
    throw Error(
        fmt::format("profile: {}\n  -> {}\n  -> strake report PROFILE.json  # shows another",
                    state.sentence, state.remedy("mpirun -n 2 strake measure")));
  }
  const auto json = std::filesystem::path(located.file).replace_extension(".json");
  path = std::filesystem::exists(json) ? json.string() : located.file;
  return path == located.file ? Shown{"", *located.profile, {}} : read_profile(path);
}

}  // namespace

int run(const Options& options) {
  std::vector<Shown> profiles;
  for (const std::string& path : options.profiles) profiles.push_back(read_profile(path));
  std::string own;
  if (options.profiles.empty()) profiles.push_back(own_profile(own));
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
  const std::string what =
      own.empty() ? fmt::format("{} profile{}", profiles.size(), profiles.size() == 1 ? "" : "s")
                  : "this machine's profile, " + own;
  if (options.output == "-") {
    if (!own.empty()) say("strake report: {}\n", what);
    fmt::print("{}", html);
    return 0;
  }
  std::ofstream file(options.output, std::ios::binary);
  file << html;
  file.close();
  if (!file) throw Error(fmt::format("{} can't be written", options.output));
  fmt::print("{}: {}, {} KiB\n", options.output, what, html.size() / 1024);
  return 0;
}

Command command(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("report", "Make a page with plots from profiles");
  app->add_option("PROFILE", options->profiles,
                  "Profiles of strake measure (JSON); none: this machine's");
  app->add_option("-o,--output", options->output, "The page; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  app->add_option("--title", options->title, "Its title")->type_name("TEXT");
  return {app, [options](const auto&) { return run(*options); }};
}

}  // namespace strake::report
