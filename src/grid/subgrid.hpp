/// \file  Regions of a subgrid: depths of its ghost cells, the difference of two boxes, and names
/// for messages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strake/grid.hpp"

namespace strake::grid {

/// How many ghost cells are on either side of each axis.
struct Depths {
  Index3 below{};
  Index3 above{};
};

/// "+x", "-x+y".
[[nodiscard]] std::string name_of(Direction d);
/// "[0, 8) x [0, 8) x [4, 8)".
[[nodiscard]] std::string bounds_of(const Box& region);

/// A number that VTK names.
struct NumberName {
  const char* name;  ///< "Float64", for good
  std::int64_t bytes;
};
[[nodiscard]] std::optional<NumberName> find_number(const char* name) noexcept;

/// As deep as the deepest direction needs.
[[nodiscard]] Depths depths_of(const Radius& radius, int axes) noexcept;
/// `all` without `hole`, which is inside: up to six boxes with nothing in common.
[[nodiscard]] std::vector<Box> without(const Box& all, const Box& hole);

}  // namespace strake::grid
