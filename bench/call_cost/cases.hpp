/// \file  The calls whose cost is measured, in the forms in which programs make them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "call_cost/functions.hpp"
#include "mpi/datatype.hpp"
#include "support/buffer.hpp"

namespace bench {

/// 26 boxes of doubles apart from each other in two equal grids: what a halo exchange sends from
/// one and receives into the other.
class Boxes {
 public:
  static constexpr int kBoxes = 26;
  static constexpr int kGrid = 40;  ///< cells of a grid in each dimension
  static constexpr std::int64_t kGridBytes = std::int64_t{8} * kGrid * kGrid * kGrid;
  /// \param edge  cells of a box in each dimension, at most 12
  explicit Boxes(int edge);
  [[nodiscard]] const std::vector<Datatype>& types() const { return types_; }
  [[nodiscard]] std::byte* from() const { return grids_.data(); }
  [[nodiscard]] std::byte* to() const { return grids_.data() + kGridBytes; }
  [[nodiscard]] std::byte* end() const { return to() + kGridBytes; }
  [[nodiscard]] int box_bytes() const { return 8 * edge_ * edge_ * edge_; }

  /// Every cell of `from` gets another number, every cell of `to` -1.
  void fill();
  /// Cells of `to` that are not as a message of each of the first `boxes` types leaves them.
  [[nodiscard]] int wrong_cells(int boxes) const;
  /// The copies alone, of the first `boxes` types.
  void pack(int boxes);
  void unpack(int boxes);

 private:
  int edge_;
  Buffer grids_;
  Buffer packed_;
  std::vector<Datatype> types_;
};

/// One thing to measure. The functions that it is given are those that it calls.
struct CallCase {
  std::string name;
  int operations = 0;      ///< sends and receives of one body
  Boxes* boxes = nullptr;  ///< null where no message has a derived type
  int boxes_used = 0;      ///< the first ones
  std::function<std::function<void()>(const Functions&)> prepare;
  bool receives = true;  ///< the boxes are received as well as sent
};

/// All messages go to and come from rank 1.
std::vector<CallCase> call_cases(std::vector<Boxes>& boxes);

}  // namespace bench
