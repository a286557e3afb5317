/// \file  Which bricks of a grid each rank owns: a box of whole bricks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "brick/decomposition.hpp"
#include "placement/graph.hpp"

namespace strake::brick {

/// A grid of bricks, as it is to be divided.
struct BricksToDivide {
  int dims = 1;
  Coordinates bricks{1, 1, 1, 1, 1};   ///< along each axis
  Coordinates lengths{1, 1, 1, 1, 1};  ///< of a brick [cells]
  Coordinates ghosts{};                ///< bricks on each side of a part
  std::array<bool, kMostDims> periodic{};
  Coordinates
      counts{};  ///< of parts along each axis; zeroes: free; a 0 beside other numbers is a 1
};

/// \param extent  cells of the grid along each axis
/// \param shape  cells of a brick along each axis
/// \param ghost  cells that ghosts are deep on each side, at least
/// \throws InvalidArgument  no axis or more than kMostDims, or other axes of the brick; a number
/// below 1, or below 0 of `ghost`; an extent that is no multiple of the brick's, and the message
/// says which would be; more than 2^30 bricks along an axis
[[nodiscard]] BricksToDivide bricks_to_divide(std::span<const std::int64_t> extent,
                                              std::span<const int> shape, int ghost);

class Division {
 public:
  /// By prime factors of `parts`, the largest first, each cuts the axis along which parts are
  /// longest and remain long enough. \throws InvalidArgument  no such division, or `counts` of
  /// another product, or of parts with fewer bricks than ghosts; the message has the numbers
  Division(const BricksToDivide& grid, int parts);

  [[nodiscard]] const Coordinates& counts() const noexcept { return counts_; }
  /// x counts fastest.
  [[nodiscard]] Coordinates position_of(int part) const noexcept;
  /// Bricks along each axis; of n in p parts the first n mod p have one more.
  [[nodiscard]] Coordinates size_of(int part) const noexcept;
  /// The first brick.
  [[nodiscard]] Coordinates lower_of(int part) const noexcept;
  /// Nothing: the grid ends there.
  [[nodiscard]] std::optional<int> neighbour(int part, Region direction) const noexcept;
  /// The sizes of all neighbours of a part, as Decomposition takes them.
  [[nodiscard]] std::vector<Coordinates> neighbour_sizes(int part) const;
  /// The bricks that parts send each other.
  [[nodiscard]] placement::Graph graph() const;

 private:
  [[nodiscard]] bool fits(std::size_t axis, int count) const noexcept;
  void cut(int factor, int parts);

  BricksToDivide grid_;
  Coordinates counts_{1, 1, 1, 1, 1};
};

}  // namespace strake::brick
