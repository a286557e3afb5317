/// \file  Lists of indices as irregular meshes and particle codes have them, the same on every run
/// and machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace bench {

enum class Order { Sorted, Random };

/// `count` different indices out of [0, range), each element equally likely. The generator's own
/// output is used, not a distribution's, which differs between standard libraries.
inline std::vector<int> pick_indices(int count, int range, Order order, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> all(static_cast<std::size_t>(range));
  for (int i = 0; i < range; ++i) all[static_cast<std::size_t>(i)] = i;
  for (int i = 0; i < count; ++i) {  // Fisher-Yates, the first `count` places
    const auto left = static_cast<std::uint32_t>(range - i);
    std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(i) + random() % left]);
  }
  all.resize(static_cast<std::size_t>(count));
  if (order == Order::Sorted) std::sort(all.begin(), all.end());
  return all;
}

}  // namespace bench
