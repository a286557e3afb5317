#include "plan/graph_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "command/not_empty.hpp"
#include "plan/graph_file.hpp"
#include "plan/graph_plan.hpp"

namespace strake::plan {

void add_graph_option(CLI::App& app, std::string& path) {
  const auto of_grid = app.get_options([](const CLI::Option* option) {
    constexpr std::array<std::string_view, 4> kOfBoth{"--nodes", "--gpus-per-node", "--json",
                                                      "--help"};
    return std::ranges::none_of(
        kOfBoth, [&](std::string_view name) { return option->check_name(std::string(name)); });
  });
  CLI::Option* const graph =
      app.add_option(
             "--graph", path,
             "Map the ranks of a graph, lines \"from to weight\", to nodes, instead of a grid")
          ->type_name("FILE")
          ->check(not_empty());
  for (CLI::Option* const option : of_grid) graph->excludes(option);
}

int show_graph(const std::string& path, int nodes, int places, bool json) {
  const GraphPlan plan = plan_graph(read_graph(path), nodes, places);
  fmt::print("{}", json ? graph_json(plan) : graph_text(plan));
  return 0;
}

}  // namespace strake::plan
