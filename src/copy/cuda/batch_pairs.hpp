/// \file  Two copies of short rows as one, such as those of both ends of every row of a grid. No
/// CUDA in here.
#pragma once

#include <cstddef>
#include <vector>

#include "copy/batch_index.h"

namespace strake::cuda {

/// Which of the copies are joined with which.
struct PairedCopies {
  std::vector<strake_batch_copy> copies;
  std::vector<std::size_t> origins;  ///< of each: the copy that it is, or begins with
};

/// Joins each two copies of one shape, whose short rows lie at the same distances in the same
/// slots, to one copy that moves a row of each in turn: the end of a row and the begin of the next
/// one lie side by side, so that two of them fetch, or fill, lines of memory which each would fetch
/// alone. Cost: O(copies · log).
[[nodiscard]] PairedCopies pair_copies(const std::vector<strake_batch_copy>& copies);

}  // namespace strake::cuda
