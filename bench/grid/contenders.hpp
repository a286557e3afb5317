/// \file  Three ways to exchange the ghost cells of a rank's block with its 26 neighbours.
#pragma once

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
  /// Interior cells hold the epoch's numbers; ghosts hold -1.
  virtual void fill(int epoch) = 0;
  /// Of this rank, ghosts too.
  [[nodiscard]] virtual std::int64_t wrong_cells(int epoch) const = 0;
};

/// grid: a strake::Grid. subarray: one message a direction and quantity, of a subarray. packed:
/// loops pack all quantities of a direction into one buffer, and unpack them. Collective.
/// \throws strake::InvalidArgument  a Grid of these ranks has no cubic blocks
std::vector<std::unique_ptr<Contender>> contenders(const RankBox& box, const HaloShape& shape);

}  // namespace bench
