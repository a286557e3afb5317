/// \file  Whether this process uses the shared heap, from which size of blocks on.
#pragma once

#include <cstddef>

namespace strake::heap {

/// Shorter blocks do not come from the heap; none does before it is in use. [bytes]
extern std::size_t g_least;

}  // namespace strake::heap
