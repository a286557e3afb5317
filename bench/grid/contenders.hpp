/// \file  Ways to exchange the ghost cells of a rank's block with its 26 neighbours.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mpi/halo.hpp"
#include "strake/error.hpp"

namespace bench {

/// The program needs a device, and there is none. Thrown on all ranks.
class NoDevice : public strake::Error {
 public:
  using Error::Error;
};

/// A contender has arrays of its own. Interior cells hold a number that says cell, field and epoch.
/// Making and destroying a contender is collective.
class Contender {
 public:
  virtual ~Contender() = default;
  virtual void exchange() = 0;
  /// The number of exchanges that exchange() makes, one after the other.
  [[nodiscard]] virtual int exchanges() const { return 1; }
  /// Time of the host's calls for one exchange, on the average; negative: it was not measured. [us]
  [[nodiscard]] virtual double host_us() const { return -1; }
  /// For people: how bytes travel, and how the last exchange went; empty: there is none.
  [[nodiscard]] virtual std::string plan() const { return {}; }
  /// Interior cells hold the epoch's numbers; ghosts hold -1.
  virtual void fill(int epoch) = 0;
  /// The number of wrong cells of this rank, ghosts too.
  [[nodiscard]] virtual std::int64_t wrong_cells(int epoch) const = 0;
};

struct ContenderKind {
  std::string name;
  /// None, and a line on standard error, where it can't be: on all ranks alike. Collective.
  /// \throws strake::InvalidArgument  on all ranks: a Grid of these ranks has no cubic blocks;
  /// NoDevice
  std::function<std::unique_ptr<Contender>(const RankBox&, const HaloShape&)> make;
};

/// All of this program.
[[nodiscard]] const std::vector<ContenderKind>& contender_kinds();

}  // namespace bench
