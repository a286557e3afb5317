#include "plan/graph_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "placement/scotch.hpp"
#include "strake/error.hpp"

namespace strake::plan {
namespace {

double percent_across(const placement::Cut& cut) {
  return 100 * static_cast<double>(cut.across) /
         static_cast<double>(std::max<std::int64_t>(cut.all, 1));
}

/// "0-2 6 8-9" of ascending numbers.
std::string ranges_of(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format(" {}", numbers[i]);
    if (last > i) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace

GraphPlan plan_graph(const placement::Graph& graph, int nodes, int places) {
  if (nodes < 1 || places < 1 || graph.vertices > std::int64_t{nodes} * places)
    throw InvalidArgument(fmt::format("a graph of {} vertices for {} nodes of {} places",
                                      graph.vertices, nodes, places));
  std::vector<int> sizes;
  std::vector<int> consecutive;
  for (int node = 0; std::ssize(consecutive) < graph.vertices; ++node) {
    sizes.push_back(std::min(places, graph.vertices - static_cast<int>(consecutive.size())));
    consecutive.insert(consecutive.end(), static_cast<std::size_t>(sizes.back()), node);
  }
  std::vector<std::vector<int>> guesses;
  if (auto guess = placement::scotch_guess(graph, sizes)) guesses.push_back(std::move(*guess));
  GraphPlan plan{graph.vertices, nodes, placement::cut_of(graph, consecutive), {}, {}};
  plan.node_of = placement::map_graph(graph, sizes, guesses);
  plan.mapped = placement::cut_of(graph, plan.node_of);
  return plan;
}

std::string graph_text(const GraphPlan& plan) {
  std::string text =
      fmt::format("{} vertices on {} nodes; edges between vertices weigh {} in all\n",
                  plan.vertices, plan.nodes, plan.given.all);
  text += fmt::format("Leaves:   {:.1f} % in the given order, {:.1f} % after mapping\n",
                      percent_across(plan.given), percent_across(plan.mapped));
  std::vector<std::vector<int>> of_node;
  for (int v = 0; v < plan.vertices; ++v) {
    const auto node = static_cast<std::size_t>(plan.node_of[static_cast<std::size_t>(v)]);
    if (node >= of_node.size()) of_node.resize(node + 1);
    of_node[node].push_back(v);
  }
  for (std::size_t node = 0; node < of_node.size(); ++node)
    text += fmt::format("Node {}:{}\n", node, ranges_of(of_node[node]));
  if (const auto empty = plan.nodes - std::ssize(of_node); empty > 0)
    text += fmt::format("Empty:    {} nodes\n", empty);
  return text;
}

std::string graph_json(const GraphPlan& plan) {
  nlohmann::ordered_json made;
  made["vertices"] = plan.vertices;
  made["weight"] = plan.given.all;
  made["across_percent"] = {{"given", percent_across(plan.given)},
                            {"mapped", percent_across(plan.mapped)}};
  made["node_of"] = plan.node_of;
  return made.dump() + '\n';
}

}  // namespace strake::plan
