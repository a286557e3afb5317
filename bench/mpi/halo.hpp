/// \file  A rank's block of a periodic grid of doubles, with ghost cells on all sides, and what it
/// sends to and receives from its 26 neighbours.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/datatype.hpp"
#include "mpi/memory.hpp"
#include "strake/box.hpp"

namespace bench {

using Triple = std::array<int, 3>;  // z, y, x

/// The job's ranks as a periodic box, x fastest.
class RankBox {
 public:
  RankBox(int rank, int ranks);
  [[nodiscard]] Triple dims() const { return dims_; }
  [[nodiscard]] Triple at() const { return at_; }
  /// The rank `sign` steps (1 or -1) in a direction. It may be this one.
  [[nodiscard]] int neighbour(const Triple& direction, int sign) const;

 private:
  Triple dims_{};
  Triple at_{};
};

struct HaloShape {
  int edge = 32;       ///< interior cells of a block in each dimension
  int radius = 1;      ///< ghost cells on each side; at most `edge`
  int quantities = 1;  ///< fields; each travels in messages of its own
  int gpus = 1;        ///< of a rank, each with such a block (bench/grid)
  MemoryOf memory = MemoryOf::Heap;
};

/// A message that all ranks send in one direction. A rank receives it from the neighbour on the
/// other side.
struct Way {
  int code;  ///< of the direction: 0 to 26 but 13
  Triple direction;
  int to;
  int from;
  Datatype send;     ///< interior cells
  Datatype receive;  ///< ghost cells
};

[[nodiscard]] inline strake::Direction direction_of(const Triple& zyx) {
  return {zyx[2], zyx[1], zyx[0]};
}

class Halo {
 public:
  Halo(const RankBox& box, const HaloShape& shape);

  /// Some cells of an array.
  struct Part {
    Triple starts;
    Triple sizes;
  };
  /// The cells that are sent in a direction, or the ghost cells on that side, counted from the
  /// array's first ghost cell.
  [[nodiscard]] static Part part(const HaloShape& shape, const Triple& direction, bool ghost);
  [[nodiscard]] Part part(const Triple& direction, bool ghost) const {
    return part(shape_, direction, ghost);
  }
  /// Cells of an array in each dimension, with ghosts.
  [[nodiscard]] int size() const { return size_; }

  /// In the order of their codes.
  [[nodiscard]] const std::vector<Way>& ways() const { return ways_; }
  [[nodiscard]] int quantities() const { return shape_.quantities; }
  [[nodiscard]] std::byte* array(int quantity) const {
    return arrays_[static_cast<std::size_t>(quantity)].data();
  }
  [[nodiscard]] std::int64_t bytes_sent() const;

  /// Interior cells hold a number that says cell, field and `epoch`; ghosts hold -1.
  void fill(int epoch);
  /// Cells that do not hold what the whole grid has there, ghosts too.
  [[nodiscard]] std::int64_t wrong_cells(int epoch) const;

 private:
  [[nodiscard]] Datatype type_of(const Part& part) const;
  [[nodiscard]] double number(const Triple& cell, int quantity, int epoch) const;
  template <typename Visit>
  void for_each_cell(Visit&& visit) const;

  const RankBox& box_;
  HaloShape shape_;
  int size_;
  std::vector<Memory> arrays_;
  std::vector<Way> ways_;
};

[[nodiscard]] inline strake::Box box_of(const Halo::Part& part) {
  strake::Box made;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    made.lower[axis] = part.starts[2 - axis];
    made.upper[axis] = part.starts[2 - axis] + part.sizes[2 - axis];
  }
  return made;
}

}  // namespace bench
