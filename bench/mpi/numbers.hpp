/// \file  Values of a grid's cells: numbers that say cell, field and epoch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "strake/box.hpp"

namespace bench {

/// The value of a grid's cell. A ghost's number is that of the cell it stands for.
[[nodiscard]] inline double grid_number(const strake::Index3& cell, const strake::Index3& extent,
                                        std::size_t quantity, std::size_t quantities, int epoch) {
  std::int64_t n = epoch;
  for (std::size_t axis = 3; axis-- > 0;)
    n = n * extent[axis] + (cell[axis] + extent[axis]) % extent[axis];
  return static_cast<double>(n * static_cast<std::int64_t>(quantities) +
                             static_cast<std::int64_t>(quantity));
}

/// Values of all cells of `stored`, x fastest; cells that are not in `filled` hold -1.
[[nodiscard]] inline std::vector<double> grid_numbers(const strake::Box& stored,
                                                      const strake::Box& filled,
                                                      const strake::Index3& extent,
                                                      std::size_t quantity, std::size_t quantities,
                                                      int epoch) {
  // Numbers of a row rise by as much from cell to cell, but where the grid begins anew.
  std::vector<double> along_x;
  for (std::int64_t i = stored.lower[0]; i < stored.upper[0]; ++i)
    along_x.push_back(
        static_cast<double>((i + extent[0]) % extent[0] * static_cast<std::int64_t>(quantities)));
  std::vector<double> all(static_cast<std::size_t>(stored.size()), -1);
  const auto begin = static_cast<std::size_t>(filled.lower[0] - stored.lower[0]);
  const auto end = static_cast<std::size_t>(filled.upper[0] - stored.lower[0]);
  double* row = all.data();
  for (std::int64_t k = stored.lower[2]; k < stored.upper[2]; ++k) {
    for (std::int64_t j = stored.lower[1]; j < stored.upper[1]; ++j, row += along_x.size()) {
      if (!filled.contains(filled.lower[0], j, k)) continue;
      const double first = grid_number({0, j, k}, extent, quantity, quantities, epoch);
      for (std::size_t x = begin; x < end; ++x) row[x] = first + along_x[x];
    }
  }
  return all;
}

/// How many of these values differ.
[[nodiscard]] inline std::int64_t count_different(const std::vector<double>& a,
                                                  const std::vector<double>& b) {
  std::int64_t different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different += a[i] != b[i];
  return different;
}

}  // namespace bench
