/// \file  The options of `strake plan`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command/command.hpp"
#include "plan/brick_plan.hpp"
#include "plan/plan.hpp"

namespace strake::plan {

struct Options {
  Question question;
  std::optional<int> nodes;
  std::optional<int> places;
  std::vector<std::int64_t> grid;  ///< as given; three axes at most go to the question
  bool has_placement = false;
  int quantities = 1;
  std::string profile;
  std::string bandwidths;
  std::string machine;
  bool has_bricks = false;
  BrickQuestion bricks;    ///< shape and ghosts
  std::string graph;       ///< a file, in place of a grid
  std::vector<int> sweep;  ///< node counts
  bool is_weak = false;    ///< the grid is that of one node
  std::string svg;
  bool machines = false;  ///< list those that ship with the program
  bool json = false;
};

/// Adds the options to the parser, which sets `options`, and checks what they are together.
void add_options(CLI::App& app, Options& options);

}  // namespace strake::plan
