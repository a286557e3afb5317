/// \file  Communication graphs from files.
#pragma once

#include <string>

#include "placement/graph.hpp"

namespace strake::plan {

/// Reads lines of the form "from to weight", integers between spaces. What follows a # is a
/// comment, and empty lines count for nothing. Vertices are 0 to the greatest that is named.
/// \throws Error  the file can't be read, has no edge, or a line has another form, a vertex that is
/// not from 0 to 2^20 - 1, or a weight below 0; the message names the line
[[nodiscard]] placement::Graph read_graph(const std::string& path);

}  // namespace strake::plan
