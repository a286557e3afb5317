#include "topo/topo_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>

#include "command/not_empty.hpp"
#include "machine/profile.hpp"
#include "machine/profile_state.hpp"
#include "report/one_size.hpp"
#include "report/profile_reader.hpp"
#include "strake/error.hpp"
#include "topo/machine_file.hpp"
#include "topo/reader.hpp"
#include "topo/show.hpp"

namespace strake::topo {
namespace {

/// The profile whose numbers are shown, if there is one.
std::optional<machine::Profile> profile_for(const Options& options) {
  if (!options.profile.empty()) return report::read_profile(options.profile).profile;
  const machine::Profile* here = machine::this_machine();
  return here == nullptr ? std::nullopt : std::optional(*here);
}

View view_of(Topology machine, const std::optional<machine::Profile>& profile) {
  View view;
  std::vector<std::string> places;
  for (const NumaNode& node : machine.nodes) places.push_back(fmt::format("node{}", node.index));
  for (const Gpu& gpu : machine.gpus) places.push_back(fmt::format("gpu{}", gpu.index));
  if (profile) {
    view.measured = report::matrix_of(*profile, places);
    report::use_one_size(view.measured, *profile);
    view.other_machine = profile->key != machine::machine_key();
    view.source = profile->host + (profile->date.empty() ? "" : ", " + profile->date);
    if (!view.measured.any())
      machine.notes.emplace_back("the profile has no bandwidths between memories");
  } else {
    view.measured = report::matrix_of({}, places);
    const auto state = machine::state_of(machine::located_here());
    machine.notes.push_back("no bandwidths: " + state.sentence);
    machine.notes.push_back("-> " + state.remedy("mpirun -n 2 strake measure --quick"));
  }
  view.machine = std::move(machine);
  return view;
}

void write_file(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error(fmt::format("{} can't be written", path));
}

/// Reads a number above 0.
double above_zero(const std::string& option, const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || next != end || !std::isfinite(number) || number <= 0)
    throw CLI::ValidationError(option, text + " is no number above 0");
  return number;
}

}  // namespace

int run(const Options& options) {
  const auto profile = profile_for(options);
  const View view = view_of(read_machine(), profile);
  // Nothing is written where this one can't be made.
  const std::string machine_file =
      options.machine_file.empty() ? "" : to_machine_file(view, options.nic_gbs);
  if (!options.svg.empty()) write_file(options.svg, to_svg(view));
  if (!options.machine_file.empty()) write_file(options.machine_file, machine_file);
  if (options.json)
    fmt::print("{}\n", to_json(view).dump(2));
  else if (options.svg.empty() && options.machine_file.empty())
    fmt::print("{}", to_text(view));
  return 0;
}

Command command(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand(
      "topo", "Show sockets, NUMA nodes, GPUs, their links, and the measured bandwidths");
  app->add_flag("--json", options->json, "Print JSON");
  app->add_option("--svg", options->svg, "Draw it into this file")
      ->type_name("FILE")
      ->check(not_empty());
  app->add_option("--profile", options->profile,
                  "Bandwidths from this profile (JSON), not from this machine's")
      ->type_name("FILE")
      ->check(not_empty());
  CLI::Option* file = app->add_option("--machine-file", options->machine_file,
                                      "Write this machine as a file for strake plan --machine")
                          ->type_name("FILE")
                          ->check(not_empty());
  app->add_option_function<std::string>(
         "--nic-gbs",
         [options](const std::string& text) { options->nic_gbs = above_zero("--nic-gbs", text); },
         "GB/s of a node's NICs together, one way, for that file; the sum of their rates")
      ->type_name("GBS")
      ->needs(file);
  return {app, [options](const auto&) { return run(*options); }};
}

}  // namespace strake::topo
