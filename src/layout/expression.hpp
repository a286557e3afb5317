/// \file  A layout as an MPI datatype, in the grammar of `strake explain`.
#pragma once

#include <cstdint>
#include <string>

#include "strake/layout.hpp"

namespace strake {

/// `hvector(512,8,4096,byte)`: a datatype that selects the same bytes in the same order. Empty
/// where it would list more than `most_blocks` blocks. Cost: O(length of the text).
[[nodiscard]] std::string expression_of(const Layout& layout, std::int64_t most_blocks = 64);

}  // namespace strake
