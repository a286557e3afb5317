/// \file  Random layouts of every kind, with the lengths and distances that have kernels of their
/// own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <random>
#include <vector>

#include "strake/layout.hpp"

namespace strake {

using Random = std::mt19937_64;

inline std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

/// Lengths that have kernels of their own, and their neighbours.
inline std::int64_t random_block(Random& random) {
  static constexpr std::int64_t kBlocks[] = {1,  2,  3,  4,  5,   7,   8,   12,  13,
                                             16, 20, 24, 31, 32,  33,  40,  48,  63,
                                             64, 65, 72, 96, 127, 128, 129, 300, 2000};
  return kBlocks[pick(random, 0, std::size(kBlocks) - 1)];
}

inline Layout random_box(Random& random) {
  const std::int64_t block = random_block(random);
  const auto dims = static_cast<std::size_t>(pick(random, 0, 6));
  const std::int64_t longest = dims <= 2 ? 70 : 5;
  std::vector<Dim> nest(dims);
  std::int64_t extent = block;
  for (std::size_t k = dims; k-- > 0;) {
    nest[k].count = pick(random, 1, longest);
    nest[k].stride_bytes = pick(random, 0, 3) == 0 ? extent : extent + pick(random, 0, 3 * block);
    if (pick(random, 0, 5) == 0) nest[k].stride_bytes = -nest[k].stride_bytes;
    extent += (nest[k].count - 1) * std::abs(nest[k].stride_bytes);
    if (extent > 200'000) nest[k].count = 1;
  }
  if (pick(random, 0, 3) == 0) std::shuffle(nest.begin(), nest.end(), random);
  return Layout::box(pick(random, -5000, 5000), block, nest);
}

inline Layout random_list(Random& random, bool own_lengths) {
  const std::int64_t count = pick(random, 1, 80);
  const std::int64_t common = random_block(random) % 400;
  std::vector<std::int64_t> offsets, lengths;
  std::int64_t at = pick(random, -3000, 3000);
  for (std::int64_t i = 0; i < count; ++i) {
    lengths.push_back(own_lengths ? pick(random, 0, 1) * pick(random, 0, 300) + pick(random, 1, 20)
                                  : common);
    offsets.push_back(at);
    at += lengths.back() + pick(random, 1, 50);
  }
  std::vector<std::size_t> order(offsets.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (pick(random, 0, 1) == 0) std::shuffle(order.begin(), order.end(), random);
  std::vector<std::int64_t> o, l;
  for (const std::size_t i : order) {
    o.push_back(offsets[i]);
    l.push_back(lengths[i]);
  }
  return own_lengths ? Layout::blocks(o, l) : Layout::blocks(o, common);
}

/// Values of 4 bytes at neighbouring places, as index lists have them: a vector spans several.
inline Layout random_value_list(Random& random) {
  const std::int64_t count = pick(random, 1, 400);
  const std::int64_t longest = pick(random, 0, 2) == 0 ? 20 : pick(random, 1, 3);
  const std::int64_t gap = pick(random, 1, 10);
  std::vector<std::int64_t> offsets, lengths;
  std::int64_t at = pick(random, -3000, 3000);
  for (std::int64_t i = 0; i < count; ++i) {
    offsets.push_back(at);
    lengths.push_back(4 * pick(random, 1, longest));
    at += lengths.back() + 4 * pick(random, 1, gap);
  }
  if (pick(random, 0, 3) == 0) {
    std::reverse(offsets.begin(), offsets.end());
    std::reverse(lengths.begin(), lengths.end());
  }
  return Layout::blocks(offsets, lengths);
}

inline Layout random_layout(Random& random, int depth = 0) {
  switch (pick(random, -1, depth < 2 ? 5 : 2)) {
    case -1:
      return random_value_list(random);
    case 0:
      return random_box(random);
    case 1:
      return random_list(random, true);
    case 2:
      return random_list(random, false);
    case 3: {
      const Layout child = random_layout(random, depth + 1);
      const std::int64_t stride = child.bounds().size() + pick(random, 0, 100);
      return child.repeated(pick(random, 0, child.size_bytes() > 2000 ? 3 : 40), stride);
    }
    default: {
      std::vector<Layout> parts;
      std::int64_t at = 0;
      for (std::int64_t i = pick(random, 0, 4); i >= 0; --i) {
        const Layout part = random_layout(random, depth + 1);
        parts.push_back(part.shifted(at - part.bounds().begin));
        at += part.bounds().size() + pick(random, 0, 40);
      }
      return Layout::sequence(parts);
    }
  }
}

}  // namespace strake
