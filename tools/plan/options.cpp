#include "plan/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "command/not_empty.hpp"
#include "plan/brick_option.hpp"
#include "plan/graph_option.hpp"
#include "plan/numbers.hpp"

namespace strake::plan {
namespace {

/// Reads a number of nodes of a sweep; `text` is the whole option.
int nodes_of(std::string_view word, const std::string& text) {
  int nodes = 0;
  const char* const end = word.data() + word.size();
  const auto [next, error] = std::from_chars(word.data(), end, nodes);
  if (error != std::errc() || next != end)
    throw CLI::ValidationError("--sweep", text + " is not of the form 1:512 or 1,2,4");
  if (nodes < 1)
    throw CLI::ValidationError("--sweep", fmt::format("{}: {} nodes, fewer than 1", text, nodes));
  return nodes;
}

/// Reads "1:512", by doubling from the first to the last, or "1,2,4".
std::vector<int> sweep_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  std::vector<int> counts;
  if (colon != std::string::npos) {
    const int first = nodes_of(std::string_view(text).substr(0, colon), text);
    const int last = nodes_of(std::string_view(text).substr(colon + 1), text);
    if (first > last)
      throw CLI::ValidationError("--sweep",
                                 fmt::format("{}: {} comes after {}", text, first, last));
    for (std::int64_t nodes = first; nodes <= last; nodes *= 2)
      counts.push_back(static_cast<int>(nodes));
    return counts;
  }
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    counts.push_back(nodes_of(std::string_view(text).substr(at, comma - at), text));
    at = comma + 1;
  }
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

/// Takes the axes of --grid; those that are not named have one cell.
void take_grid(Options& options) {
  if (options.grid.size() > options.question.grid.size())
    throw CLI::ValidationError(
        "--grid", fmt::format("{} axes; more than three go with --bricks", options.grid.size()));
  std::ranges::copy(options.grid, options.question.grid.begin());
}

void check_together(const CLI::App& app, Options& options) {
  if (options.has_bricks) {
    check_brick_options(app, options.bricks);
    return;
  }
  if (app.count("--ghost") > 0) throw CLI::RequiresError("--ghost", "--bricks");
  take_grid(options);
  const bool is_sweep = !options.sweep.empty();
  if (options.machines) return;
  if (!options.nodes && !is_sweep) throw CLI::RequiredError("--nodes");
  if (!options.places && options.machine.empty()) throw CLI::RequiredError("--gpus-per-node");
  if (options.grid.empty() && options.graph.empty()) throw CLI::RequiredError("--grid");
  const auto excludes = [](bool both, const char* one, const char* other) {
    if (both) throw CLI::ExcludesError(one, other);
  };
  excludes(options.nodes && is_sweep, "--nodes", "--sweep");
  excludes(options.has_placement && is_sweep, "--placement", "--sweep");
  excludes(!options.bandwidths.empty() && !options.machine.empty(), "--bandwidth", "--machine");
  if (options.is_weak && !is_sweep) throw CLI::RequiresError("--weak", "--sweep");
  if (options.question.objective == Objective::Bottleneck && options.bandwidths.empty() &&
      options.machine.empty())
    throw CLI::RequiresError("--objective", "--machine or --bandwidth");
}

void add_job(CLI::App& app, Options& options) {
  app.add_option("--nodes", options.nodes, "Nodes of the job")->type_name("INT");
  app.add_option(
         "--gpus-per-node", options.places,
         "GPUs of a node, or ranks, with --host, --bricks or --graph; those of the --machine")
      ->type_name("INT");
  app.add_option_function<std::string>(
         "--grid",
         [&options](const std::string& text) {
           options.grid = numbers_of<std::int64_t>("--grid", text, "512x256x256");
         },
         "Cells along each axis")
      ->type_name("XxYxZ");
  app.add_option("--radius", options.question.radius, "Cells that a stencil reaches")
      ->type_name("INT")
      ->capture_default_str();
  app.add_option("--quantities", options.quantities, "Fields of 8 bytes a cell")
      ->type_name("INT")
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--placement",
         [&options](const std::string& name) {
           options.question.placement =
               name == "default" ? Placement::Default : Placement::NodeAware;
           options.has_placement = true;
         },
         "default: consecutive parts of a flat bisection on a node; node-aware: nodes first, which "
         "may be slower at prime numbers of nodes: compare the Links lines")
      ->check(CLI::IsMember({"default", "node-aware"}))
      ->default_str("default");
  app.add_flag("--host", options.question.on_host, "Fields are in host memory, not on GPUs");
}

void add_machine(CLI::App& app, Options& options) {
  app.add_option("--profile", options.profile, "Predict by this profile (JSON)")
      ->type_name("FILE")
      ->check(not_empty());
  app.add_option(
         "--bandwidth", options.bandwidths,
         "GB/s between the GPUs of a node, a matrix: parts go where that costs least, by a search")
      ->type_name("FILE")
      ->check(not_empty());
  app.add_option("--machine", options.machine,
                 "Links of this machine, of --machines or a file: parts go where these cost least")
      ->type_name("NAME")
      ->check(not_empty());
  app.add_flag("--machines", options.machines, "List the machines that are known");
  app.add_option_function<std::string>(
         "--objective",
         [&options](const std::string& name) {
           options.question.objective = name == "sum" ? Objective::Sum : Objective::Bottleneck;
         },
         "What is searched for: sum: transfers of a node take least in all; bottleneck: its "
         "slowest "
         "link takes least")
      ->check(CLI::IsMember({"sum", "bottleneck"}))
      ->default_str("sum");
}

void add_output(CLI::App& app, Options& options) {
  app.add_option_function<std::string>(
         "--sweep", [&options](const std::string& text) { options.sweep = sweep_of(text); },
         "Both placements for several numbers of nodes: 1,2,4, or 1:512, which doubles")
      ->type_name("COUNTS");
  app.add_flag("--weak", options.is_weak,
               "In a sweep: --grid is that of one node, and grows with the nodes");
  app.add_option("--svg", options.svg, "Draw it into this file")
      ->type_name("FILE")
      ->check(not_empty());
  app.add_flag("--json", options.json, "Print JSON");
}

}  // namespace

void add_options(CLI::App& app, Options& options) {
  add_job(app, options);
  add_machine(app, options);
  add_brick_options(app, options.bricks, options.has_bricks);
  add_output(app, options);
  add_graph_option(app, options.graph);
  app.final_callback([&app, &options] { check_together(app, options); });
}

}  // namespace strake::plan
