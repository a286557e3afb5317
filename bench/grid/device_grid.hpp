/// \file  Ghost exchange by a strake::Grid in a device's memory.
#pragma once

#include <memory>

#include "grid/contenders.hpp"

namespace bench {

/// How a program exchanges. It waits for the end each time, of one or of ten exchanges.
enum class Pace {
  Wait,        ///< exchange().wait()
  Enqueue,     ///< enqueue(stream)
  EnqueueTen,  ///< ten of these
  Graph,       ///< a graph of enqueue(stream)
  GraphOfTen,  ///< a graph of ten of these
  /// \{ Enqueue and Graph without the grid's fusion: an exchange a direction and field.
  EnqueueNotFused,
  GraphNotFused,
  /// \}
};

/// None, and a line, where it can't be part of a graph: ranks share a device, for one.
[[nodiscard]] std::unique_ptr<Contender> make_device_grid(const RankBox& box,
                                                          const HaloShape& shape, Pace pace);

}  // namespace bench
