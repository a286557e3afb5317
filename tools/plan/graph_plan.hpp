/// \file  Which ranks of a communication graph go to which node, and what leaves nodes then.
#pragma once

#include <string>
#include <vector>

#include "placement/graph.hpp"

namespace strake::plan {

struct GraphPlan {
  int vertices = 0;
  int nodes = 0;
  placement::Cut given;      ///< consecutive vertices on each node
  placement::Cut mapped;     ///< as in node_of
  std::vector<int> node_of;  ///< by vertex
};

/// Nodes are filled one after another: where there are fewer vertices than places, the last nodes
/// have fewer, or none.
/// \throws InvalidArgument  fewer places than vertices, or a number below 1; as map_graph()
[[nodiscard]] GraphPlan plan_graph(const placement::Graph& graph, int nodes, int places);

[[nodiscard]] std::string graph_text(const GraphPlan& plan);
[[nodiscard]] std::string graph_json(const GraphPlan& plan);

}  // namespace strake::plan
