/// \file  The layouts that are measured beside boxes of one dimension: lists of block offsets that
/// are no box in disguise, and transposes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "strake/layout.hpp"

namespace strake::measure {

/// Ascending, one in eight distances half as long again: no two neighbours touch, and no constant
/// stride is left.
inline std::vector<std::int64_t> uneven_offsets(std::int64_t count, std::int64_t pitch) {
  std::mt19937_64 random(1);
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(count));
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    offsets.push_back(at);
    at += pitch + (random() % 8 == 0 ? pitch / 2 : 0);
  }
  return offsets;
}

/// All multiples of the pitch, in random order.
inline std::vector<std::int64_t> shuffled_offsets(std::int64_t count, std::int64_t pitch) {
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) offsets.push_back(i * pitch);
  std::mt19937_64 random(2);
  for (std::size_t i = offsets.size(); i > 1; --i) {
    std::swap(offsets[i - 1], offsets[random() % i]);
  }
  return offsets;
}

/// A matrix of `bytes` in rows of `row` bytes, column by column; elements of `block` bytes.
inline Layout transposed(std::int64_t bytes, std::int64_t block, std::int64_t row) {
  const Dim dims[] = {{row / block, block}, {bytes / row, row}};
  return Layout::box(0, block, dims);
}

}  // namespace strake::measure
