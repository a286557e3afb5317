#include "plan/plan_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "command/not_empty.hpp"
#include "machine/usage.hpp"
#include "plan/graph_option.hpp"
#include "plan/plan.hpp"
#include "report/profile_reader.hpp"
#include "strake/error.hpp"

namespace strake::plan {
namespace {

struct Options {
  Question question;
  int quantities = 1;
  std::string profile;
  std::string bandwidths;
  std::string graph;
  bool json = false;
};

/// Reads "512x256x256"; axes that are not named have one cell.
Index3 grid_of(const std::string& text) {
  Index3 grid{1, 1, 1};
  std::string_view rest = text;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const char* const end = rest.data() + rest.size();
    const auto [next, error] = std::from_chars(rest.data(), end, grid[axis]);
    if (error != std::errc()) break;
    if (next == end) return grid;
    if (*next != 'x') break;
    rest.remove_prefix(static_cast<std::size_t>(next - rest.data()) + 1);
  }
  throw CLI::ValidationError("--grid", text + " is not of the form 512x256x256");
}

/// Reads a matrix of GB/s, a line for each place. \throws Error  it can't be read, or is not square
placement::Square read_bandwidths(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(fmt::format("{} can't be read", path));
  std::vector<double> values;
  for (double value = 0; file >> value;) values.push_back(value);
  if (!file.eof())
    throw Error(fmt::format("{}: what comes after {} numbers is none", path, values.size()));
  const auto size = static_cast<std::size_t>(std::lround(std::sqrt(std::size(values))));
  if (values.empty() || size * size != values.size())
    throw Error(fmt::format("{}: {} numbers are no square matrix", path, values.size()));
  placement::Square made(size);
  for (std::size_t i = 0; i < values.size(); ++i) made(i / size, i % size) = values[i];
  return made;
}

struct Percent {
  double self, node, network;
};
Percent percent_of(const placement::Shares& shares) {
  const double all = static_cast<double>(std::max<std::int64_t>(shares.all(), 1));
  const auto part = [all](std::int64_t cells) { return 100 * static_cast<double>(cells) / all; };
  return {part(shares.self), part(shares.node), part(shares.network)};
}
double mib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::optional<double> predicted_us(const Answer& answer) {
  if (!answer.prediction || !answer.prediction->seconds) return std::nullopt;
  return *answer.prediction->seconds * 1e6;
}

nlohmann::ordered_json to_json(const Answer& answer) {
  const Percent percent = percent_of(answer.shares);
  nlohmann::ordered_json made;
  const auto or_null = [](const auto& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  made["parts"] = answer.counts;
  made["node_grid"] = or_null(answer.nodes);
  made["gpu_grid"] = or_null(answer.of_node);
  made["largest_subgrid"] = answer.largest;
  made["share_percent"] = {
      {"self", percent.self}, {"node", percent.node}, {"network", percent.network}};
  made["sent_mib_per_gpu"] = mib(answer.most_sent);
  made["offnode_mib_per_node"] = mib(answer.most_leaving);
  made["messages_per_gpu"] = answer.most_messages;
  if (answer.assignment) {
    made["mapping"] = answer.assignment->place_of;
    made["cost"] = answer.assignment->cost;
  }
  if (answer.spread) {
    made["mean_over_optimum"] = answer.spread->mean_over_optimum;
    made["worst_over_optimum"] = answer.spread->worst_over_optimum;
  }
  made["predicted_us"] = or_null(predicted_us(answer));
  made["bound_by"] = predicted_us(answer)
                         ? nlohmann::ordered_json(name_of(answer.prediction->bound.resource))
                         : nlohmann::ordered_json(nullptr);
  return made;
}

std::string by(const placement::Position& counts) {
  return fmt::format("{} x {} x {}", counts[0], counts[1], counts[2]);
}

std::string to_text(const Question& asked, const Answer& answer) {
  const Percent percent = percent_of(answer.shares);
  std::string text = fmt::format("{} parts", by(answer.counts));
  if (answer.nodes)
    text += fmt::format(": {} nodes of {}", by(*answer.nodes), by(*answer.of_node));
  else
    text += fmt::format(", {} consecutive ones on each of {} nodes", asked.places, asked.nodes);
  text += fmt::format("; the largest has {} x {} x {} cells\n", answer.largest[0],
                      answer.largest[1], answer.largest[2]);
  text +=
      fmt::format("Bytes:    {:.1f} % stay in a part, {:.1f} % in its node, {:.1f} % leave it\n",
                  percent.self, percent.node, percent.network);
  text += fmt::format("A part:   sends {:.1f} MiB at most, to {} others\n", mib(answer.most_sent),
                      answer.most_messages);
  text += fmt::format("A node:   {:.1f} MiB leave it at most\n", mib(answer.most_leaving));
  if (answer.assignment)
    text += fmt::format("Within:   parts of a node go to its places {}; {:.1f} us of transfers\n",
                        fmt::join(answer.assignment->place_of, " "), answer.assignment->cost);
  if (answer.spread && answer.spread->worst_over_optimum < 1 + 1e-9)
    text += "          No effect: all places cost the same\n";
  else if (answer.spread)
    text += fmt::format("          Others take {:.2f} times as long on average, {:.2f} at worst\n",
                        answer.spread->mean_over_optimum, answer.spread->worst_over_optimum);
  if (const auto us = predicted_us(answer)) {
    text += fmt::format("Exchange: {:.1f} us, by the profile; {} takes most of it\n", *us,
                        name_of(answer.prediction->bound.resource));
  } else if (answer.prediction) {
    text += "Exchange: not predicted, as the profile lacks what that takes\n";
  } else {
    text += "Exchange: not predicted without --profile\n";
  }
  return text;
}

int run(const Options& options) {
  Question question = options.question;
  if (!options.graph.empty())
    return show_graph(options.graph, question.nodes, question.places, options.json);
  question.cell_bytes = 8 * std::int64_t{options.quantities};
  std::optional<machine::Profile> profile;
  if (!options.profile.empty()) profile = report::read_profile(options.profile).profile;
  if (!options.bandwidths.empty()) question.bandwidths = read_bandwidths(options.bandwidths);
  const Answer found = answer(question, profile ? &*profile : nullptr);
  if (options.json)
    fmt::print("{}\n", to_json(found).dump(2));
  else
    fmt::print("{}", to_text(question, found));
  return 0;
}

}  // namespace

Command command(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  Question& question = options->question;
  CLI::App* app = parent.add_subcommand(
      "plan", "Show how a grid is divided among nodes and GPUs, and what its exchange will cost");
  app->add_option("--nodes", question.nodes, "Nodes of the job")->type_name("INT")->required();
  app->add_option("--gpus-per-node", question.places, "GPUs of a node, or ranks, with --host")
      ->type_name("INT")
      ->required();
  app->add_option_function<std::string>(
         "--grid", [&question](const std::string& text) { question.grid = grid_of(text); },
         "Cells along each axis")
      ->type_name("XxYxZ")
      ->required();
  app->add_option("--radius", question.radius, "Cells that a stencil reaches")
      ->type_name("INT")
      ->capture_default_str();
  app->add_option("--quantities", options->quantities, "Fields of 8 bytes a cell")
      ->type_name("INT")
      ->capture_default_str();
  app->add_option_function<std::string>(
         "--placement",
         [&question](const std::string& name) {
           question.placement = name == "default" ? Placement::Default : Placement::NodeAware;
         },
         "default: consecutive parts of a flat bisection on a node; node-aware: nodes first")
      ->check(CLI::IsMember({"default", "node-aware"}))
      ->default_str("default");
  app->add_option("--profile", options->profile, "Predict by this profile (JSON)")
      ->type_name("FILE")
      ->check(not_empty());
  app->add_option("--bandwidth", options->bandwidths,
                  "GB/s between the GPUs of a node, a matrix: parts go where that costs least")
      ->type_name("FILE")
      ->check(not_empty());
  app->add_flag("--host", question.on_host, "Fields are in host memory, not on GPUs");
  app->add_flag("--json", options->json, "Print JSON");
  add_graph_option(*app, options->graph);
  return {app, [options](const auto&) { return run(*options); }};
}

}  // namespace strake::plan
