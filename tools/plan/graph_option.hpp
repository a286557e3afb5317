/// \file  `strake plan --graph`: a job is given by a graph of its messages, in place of a grid.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace strake::plan {

/// Adds --graph to `strake plan`, after all other options of a grid, none of which goes with it.
void add_graph_option(CLI::App& app, std::string& path);

/// Prints the plan; returns the command's status. \throws Error  as read_graph() and plan_graph()
int show_graph(const std::string& path, int nodes, int places, bool json);

}  // namespace strake::plan
