/// \file  In one sentence: what Strake would do with a message of a datatype, and why.
#pragma once

#include <string>

#include "strake/layout.hpp"

namespace strake::explain {

/// "packed: the MPI library copies such short blocks more slowly, by a built-in rule". Of a
/// blocking message between ranks of a node, in host memory.
[[nodiscard]] std::string verdict_of(const Layout& layout);

}  // namespace strake::explain
