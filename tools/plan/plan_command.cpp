#include "plan/plan_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/brick_option.hpp"
#include "plan/graph_option.hpp"
#include "plan/options.hpp"
#include "plan/show.hpp"
#include "plan/sweep.hpp"
#include "report/profile_reader.hpp"
#include "strake/error.hpp"

namespace strake::plan {
namespace {

/// Reads a matrix of GB/s, a line for each place. \throws Error  it can't be read, is not square,
/// or has more than 1024 places
placement::Square read_bandwidths(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(fmt::format("{} can't be read", path));
  std::vector<double> values;
  constexpr std::size_t kMost = 1024;  // places of a node
  for (double value = 0; values.size() <= kMost * kMost && file >> value;) values.push_back(value);
  if (values.size() > kMost * kMost)
    throw Error(fmt::format("{}: a matrix of more than {} places", path, kMost));
  if (file.bad()) throw Error(fmt::format("{} can't be read", path));
  if (!file.eof())
    throw Error(fmt::format("{}: what comes after {} numbers is none", path, values.size()));
  const auto size = static_cast<std::size_t>(std::lround(std::sqrt(std::size(values))));
  if (values.empty() || size * size != values.size())
    throw Error(fmt::format("{}: {} numbers are no square matrix", path, values.size()));
  placement::Square made(size);
  for (std::size_t i = 0; i < values.size(); ++i) made(i / size, i % size) = values[i];
  return made;
}

Question question_of(const Options& options) {
  Question question = options.question;
  question.cell_bytes = 8 * std::int64_t{options.quantities};
  if (!options.machine.empty()) {
    question.machine = std::make_shared<Machine>(find_machine(options.machine));
    question.places = question.machine->places_per_node;
    const bool has_gpus = question.machine->places == "GPUs";
    if (has_gpus && question.on_host)
      throw InvalidArgument(fmt::format(
          "{} has links between GPUs: they say nothing of fields in host memory (--host)",
          question.machine->name));
    question.on_host = !has_gpus;
  }
  if (options.nodes) question.nodes = *options.nodes;
  if (options.places) question.places = *options.places;
  if (!options.bandwidths.empty()) question.bandwidths = read_bandwidths(options.bandwidths);
  return question;
}

void write_drawing(const std::string& path, const std::string& drawing) {
  std::ofstream file(path, std::ios::binary);
  file << drawing;
  file.close();
  if (!file) throw Error(fmt::format("{} can't be written", path));
}

int run(const Options& options) {
  if (options.machines) {
    fmt::print("{}", machines_text());
    return 0;
  }
  if (options.has_bricks) {
    BrickQuestion bricks = options.bricks;
    bricks.grid = options.grid;
    bricks.fields = options.quantities;
    return show_bricks(std::move(bricks), options.nodes, options.places, options.json);
  }
  if (!options.graph.empty())
    return show_graph(options.graph, *options.nodes, *options.places, options.json);
  const Question question = question_of(options);
  std::optional<machine::Profile> profile;
  if (!options.profile.empty()) profile = report::read_profile(options.profile).profile;
  const machine::Profile* const by_profile = profile ? &*profile : nullptr;
  if (!options.sweep.empty()) {
    const std::vector<Row> rows = sweep(question, options.sweep, options.is_weak, by_profile);
    if (!options.svg.empty()) write_drawing(options.svg, to_svg(rows));
    fmt::print("{}", options.json ? to_json(rows).dump(2) + "\n" : to_text(rows));
    return 0;
  }
  const Answer found = answer(question, by_profile);
  if (!options.svg.empty()) write_drawing(options.svg, to_svg(question, found));
  fmt::print("{}", options.json ? to_json(found).dump(2) + "\n" : to_text(question, found));
  return 0;
}

}  // namespace

Command command(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand(
      "plan", "Show how a grid is divided among nodes and GPUs, and what its exchange will cost");
  add_options(*app, *options);
  return {app, [options](const auto&) { return run(*options); }};
}

}  // namespace strake::plan
