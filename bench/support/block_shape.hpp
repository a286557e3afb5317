/// \file  A cube of doubles with ghost cells on all sides: faces, edges and corners of a halo.
/// Cells are counted from the first ghost cell.
#pragma once

#include <cstdint>

#include "strake/box.hpp"

namespace bench {

struct BlockShape {
  int edge = 32;       ///< interior cells along each axis
  int radius = 1;      ///< ghost cells on each side; at most `edge`
  int quantities = 1;  ///< fields

  /// Cells of a field along each axis, with ghosts.
  [[nodiscard]] int size() const { return edge + 2 * radius; }
  /// Cells of a field, with ghosts.
  [[nodiscard]] std::int64_t cells() const { return std::int64_t{size()} * size() * size(); }
  [[nodiscard]] std::int64_t bytes() const { return cells() * std::int64_t{sizeof(double)}; }
  [[nodiscard]] strake::Index3 sizes() const { return {size(), size(), size()}; }
  [[nodiscard]] strake::Box interior() const {
    const std::int64_t end = radius + edge;
    return {{radius, radius, radius}, {end, end, end}};
  }
  /// Interior cells that a neighbour in this direction needs.
  [[nodiscard]] strake::Box sent(strake::Direction direction) const {
    return strake::border(interior(), direction, radius);
  }
  [[nodiscard]] strake::Box ghosts(strake::Direction direction) const {
    return strake::ghosts(interior(), direction, radius);
  }
};

}  // namespace bench
