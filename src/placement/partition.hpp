/// \file  Divides a grid among the ranks of a job. Source: dissertation 4.3 (recursive bisection by
/// prime factors).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "strake/box.hpp"

namespace strake::placement {

/// The prime factors of a number, the largest first; none of 1.
[[nodiscard]] std::vector<int> prime_factors(int number);

/// The place of a subgrid among the others, and how many there are along each axis.
using Position = std::array<int, 3>;

/// Which of several axes along which subgrids are equally long is cut.
enum class Ties : std::uint8_t {
  Last,   ///< cells that lie side by side stay so, and faces are copied in long blocks
  First,  ///< as the papers have it
};

/// A box of subgrids of nearly equal size: along each axis they differ by one cell at most. A plain
/// value; the same on all ranks.
class Partition {
 public:
  Partition() = default;
  /// `parts` and each extent are at least one. Flat: each prime factor of `parts`, the largest
  /// first, divides the axis along which subgrids are longest. Cost: O(log parts).
  Partition(const Index3& extent, int parts, Ties ties = Ties::Last);

  /// Into so many along each axis.
  Partition(const Index3& extent, const Position& counts) noexcept
      : extent_(extent), counts_(counts) {}

  /// Along each axis.
  [[nodiscard]] const Position& counts() const noexcept { return counts_; }
  /// x counts fastest.
  [[nodiscard]] Position position_of(int part) const noexcept;
  [[nodiscard]] int part_at(const Position& position) const noexcept;
  /// Cells [begin, end) along an axis. None, at the end, where there are fewer cells than subgrids.
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    [[nodiscard]] std::int64_t size() const noexcept { return end - begin; }
  };
  [[nodiscard]] Range range(std::size_t axis, int position) const noexcept;
  /// The cells of a part.
  [[nodiscard]] Box box_of(int part) const noexcept;
  /// Whether a part has cells at all.
  [[nodiscard]] bool has_cells(int part) const noexcept;
  /// How many positions along an axis have cells.
  [[nodiscard]] int used(std::size_t axis) const noexcept;
  /// The part in a direction of one that has cells; nothing: the grid ends there.
  [[nodiscard]] std::optional<int> neighbour(int part, Direction d,
                                             const std::array<bool, 3>& periodic) const noexcept;

 private:
  Index3 extent_{1, 1, 1};
  Position counts_{1, 1, 1};
};

}  // namespace strake::placement
