/// \file  `strake plan --bricks`: the grid is stored in bricks.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "plan/brick_plan.hpp"

namespace strake::plan {

/// Adds --bricks and --ghost to `strake plan`. \param is_asked  becomes true if --bricks is given
void add_brick_options(CLI::App& app, BrickQuestion& asked, bool& is_asked);

/// Checks the options that were given beside --bricks.
/// \throws CLI::ParseError  an option that says nothing of bricks, or one that is missing
void check_brick_options(const CLI::App& app, const BrickQuestion& asked);

/// Prints the plan; without a grid, the messages of any. Returns the command's status.
/// \throws InvalidArgument  as plan_bricks(); places as require_places()
int show_bricks(BrickQuestion asked, std::optional<int> nodes, std::optional<int> places,
                bool json);

}  // namespace strake::plan
