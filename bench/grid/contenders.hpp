/// \file  Three ways to exchange the ghost cells of a rank's block with its 26 neighbours.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mpi/halo.hpp"

namespace bench {

/// Each has arrays of its own. Interior cells hold a number that says cell, quantity and epoch.
class Contender {
 public:
  virtual ~Contender() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  virtual void exchange() = 0;
  /// That exchange() makes, one after the other.
  [[nodiscard]] virtual int exchanges() const { return 1; }
  /// Interior cells hold the epoch's numbers; ghosts hold -1.
  virtual void fill(int epoch) = 0;
  /// Of this rank, ghosts too.
  [[nodiscard]] virtual std::int64_t wrong_cells(int epoch) const = 0;
};

/// What a cell of a Grid holds. A ghost's number is that of the cell it stands for.
[[nodiscard]] inline double grid_number(const std::array<std::int64_t, 3>& cell,
                                        const std::array<std::int64_t, 3>& extent,
                                        std::size_t quantity, std::size_t quantities, int epoch) {
  std::int64_t n = epoch;
  for (std::size_t axis = 3; axis-- > 0;)
    n = n * extent[axis] + (cell[axis] + extent[axis]) % extent[axis];
  return static_cast<double>(n * static_cast<std::int64_t>(quantities) +
                             static_cast<std::int64_t>(quantity));
}

/// grid: a strake::Grid. subarray: one message a direction and quantity, of a subarray. packed:
/// loops pack all quantities of a direction into one buffer, and unpack them. Collective.
/// \throws strake::InvalidArgument  a Grid of these ranks has no cubic blocks
std::vector<std::unique_ptr<Contender>> contenders(const RankBox& box, const HaloShape& shape);

}  // namespace bench
