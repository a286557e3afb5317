#include "strake/box.hpp"

#include "strake/layout.hpp"

namespace strake {

Layout layout_of(const Box& part, const CellArray& array) {
  if (part.empty()) return {};
  const Dim dims[] = {{part.extent(2), array.stride_z}, {part.extent(1), array.stride_y}};
  return Layout::box(array.origin + part.lower[2] * array.stride_z +
                         part.lower[1] * array.stride_y + part.lower[0] * array.cell,
                     part.extent(0) * array.cell, dims);
}

}  // namespace strake
