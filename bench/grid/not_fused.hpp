/// \file  The exchange of a grid without its fusion: as many exchanges as it has directions and
/// fields.
#pragma once

#include <cstddef>
#include <vector>

#include "mpi/halo.hpp"
#include "strake/exchange.hpp"
#include "strake/grid.hpp"
#include "strake/stream.hpp"

namespace bench {

/// Exchanges that fill the ghost cells of the grid's own arrays, as the grid's exchange of all
/// fields does.
class NotFused {
 public:
  /// `fields` have no second buffer. Making and destroying it is collective.
  NotFused(const std::vector<strake::Field<double>>& fields, const RankBox& box,
           const HaloShape& shape, strake::Place place);
  /// In host memory: all begin, then each is waited for.
  void exchange();
  /// In a device's memory: one after the other.
  void enqueue(strake::Stream& stream);

 private:
  /// On a device all fields of a direction have one plan, which is run for each: each plan has a
  /// staging buffer.
  struct Run {
    std::size_t plan;
    std::byte* base;
  };
  std::vector<strake::Exchange> plans_;
  std::vector<Run> runs_;
};

}  // namespace bench
