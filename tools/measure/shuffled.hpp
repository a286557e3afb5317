/// \file  The lists of blocks that are measured.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "strake/layout.hpp"

namespace strake::measure {

/// Blocks `pitch` bytes apart, in an order that is random, but always the same.
inline Layout shuffled_blocks(std::int64_t count, std::int64_t block, std::int64_t pitch) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = static_cast<std::int64_t>(i) * pitch;
  }
  std::mt19937_64 random(20230715);
  std::shuffle(offsets.begin(), offsets.end(), random);
  return Layout::blocks(offsets, block);
}

}  // namespace strake::measure
