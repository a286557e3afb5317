/// \file  A rank's block of a periodic grid of doubles, with ghost cells on all sides, and what it
/// sends to and receives from its 26 neighbours. Axes are x, y, z.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/datatype.hpp"
#include "mpi/memory.hpp"
#include "strake/box.hpp"
#include "support/block_shape.hpp"

namespace bench {

/// The job's ranks as a periodic box, x fastest.
class RankBox {
 public:
  RankBox(int rank, int ranks);
  /// So many ranks along each axis.
  RankBox(int rank, const std::array<int, 3>& counts);
  [[nodiscard]] std::array<int, 3> counts() const;
  [[nodiscard]] const strake::Index3& at() const { return at_; }
  /// The next rank in a direction. It may be this one.
  [[nodiscard]] int neighbour(strake::Direction direction) const;
  [[nodiscard]] int rank() const { return static_cast<int>(strake::number_of(at_, counts_)); }

 private:
  strake::Index3 counts_{};
  strake::Index3 at_{};
};

/// A rank's block. Each field travels in messages of its own.
struct HaloShape : BlockShape {
  int gpus = 1;  ///< of a rank, each with such a block (bench/grid)
  MemoryOf memory = MemoryOf::Heap;
};

/// A message that all ranks send in one direction. A rank receives it from the neighbour on the
/// other side.
struct Transfer {
  int code;  ///< of the direction: 0 to 26 but 13
  int to;
  int from;
  strake::Box sent;    ///< interior cells
  strake::Box ghosts;  ///< where the cells of `from` go
};
/// All 26, in the order of their codes.
[[nodiscard]] std::vector<Transfer> transfers_of(const RankBox& box, const HaloShape& shape);

/// Volume of the messages that a rank sends in one exchange of all fields. [bytes]
struct HaloBytes {
  std::int64_t within = 0;  ///< to itself
  std::int64_t to_others = 0;
  [[nodiscard]] std::int64_t all() const { return within + to_others; }
};
[[nodiscard]] HaloBytes halo_bytes(const RankBox& box, const HaloShape& shape);

/// The cells of a rank's block by their places in the whole grid.
class BlockCells {
 public:
  BlockCells(const RankBox& box, const HaloShape& shape);
  /// Cells of the whole grid.
  [[nodiscard]] const strake::Index3& extent() const { return extent_; }
  /// Values of a field's cells, x fastest: interior cells hold a number that says cell, field and
  /// `epoch`; ghosts hold -1.
  [[nodiscard]] std::vector<double> filled(int quantity, int epoch) const;
  /// How many of a field's values are not those of the whole grid, ghosts too.
  [[nodiscard]] std::int64_t wrong(const std::vector<double>& values, int quantity,
                                   int epoch) const;

 private:
  std::size_t quantities_;
  strake::Index3 extent_;
  strake::Box owned_;
  strake::Box stored_;
};

/// The block's arrays in the memory of the host.
class Halo {
 public:
  Halo(const RankBox& box, const HaloShape& shape);

  /// Datatypes of a transfer's cells.
  struct Types {
    Transfer transfer;
    Datatype send;
    Datatype receive;
  };
  /// In the order of their codes.
  [[nodiscard]] const std::vector<Types>& transfers() const { return transfers_; }
  [[nodiscard]] const HaloShape& shape() const { return shape_; }
  [[nodiscard]] double* array(int quantity) const {
    return reinterpret_cast<double*>(arrays_[static_cast<std::size_t>(quantity)].data());
  }

  /// As BlockCells has them.
  void fill(int epoch);
  [[nodiscard]] std::int64_t wrong_cells(int epoch) const;

 private:
  HaloShape shape_;
  BlockCells cells_;
  std::vector<Memory> arrays_;
  std::vector<Types> transfers_;
};

}  // namespace bench
