/// \file  One question for several numbers of nodes, and both placements.
#pragma once

#include <vector>

#include "plan/show.hpp"

namespace strake::plan {

/// The grid of so many nodes of which each has `grid`: each prime factor of the nodes, the largest
/// first, multiplies the axis that is shortest so far, of equal ones the first.
/// \throws InvalidArgument  more cells along an axis than 2^62
[[nodiscard]] Index3 grown(const Index3& grid, int nodes);

/// Two rows for each number of nodes: the default placement, then the node-aware one.
/// \param is_weak  the question's grid is that of one node
/// \throws  as answer(); the message begins with the nodes
[[nodiscard]] std::vector<Row> sweep(const Question& asked, const std::vector<int>& nodes,
                                     bool is_weak, const machine::Profile* profile);

}  // namespace strake::plan
