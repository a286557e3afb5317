// Bricks as layouts, and the arrays that have their cells.
#include <vector>

#include "brick/plan.hpp"

namespace strake {

Layout AnyBrickGrid::Plan::of_bricks(bool with_ghosts) const {
  std::vector<Layout> parts;
  const std::int64_t row = shape[0] * element_bytes;
  for (const brick::StoredBox& stored : decomposition->boxes()) {
    if (!with_ghosts && stored.first >= decomposition->owned()) break;
    std::vector<Dim> of_boxes;
    std::vector<Dim> of_cells;
    std::int64_t apart = stride;
    std::int64_t along = row;
    for (std::size_t axis = 0; axis < axes(); ++axis) {
      const std::int64_t count = stored.box.upper[axis] - stored.box.lower[axis];
      of_boxes.insert(of_boxes.begin(), {count, apart});
      apart *= count;
      if (axis == 0) continue;
      of_cells.insert(of_cells.begin(), {shape[axis], along});
      along *= shape[axis];
    }
    of_boxes.insert(of_boxes.end(), of_cells.begin(), of_cells.end());
    parts.push_back(Layout::box(offsets[static_cast<std::size_t>(stored.first)], row, of_boxes));
  }
  return Layout::sequence(parts);
}

Layout AnyBrickGrid::Plan::of_array(bool with_ghosts) const {
  std::vector<Layout> parts;
  for (const brick::StoredBox& stored : decomposition->boxes()) {
    if (!with_ghosts && stored.first >= decomposition->owned()) break;
    std::vector<Dim> of_boxes;
    std::vector<Dim> of_cells;
    std::int64_t along = element_bytes;  // from cell to cell along the axis
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < axes(); ++axis) {
      const int lower = stored.box.lower[axis] + (with_ghosts ? bricks.ghosts[axis] : 0);
      const int stored_bricks =
          decomposition->counts()[axis] + (with_ghosts ? 2 * bricks.ghosts[axis] : 0);
      of_boxes.insert(of_boxes.begin(),
                      {stored.box.upper[axis] - stored.box.lower[axis], along * shape[axis]});
      if (axis > 0) of_cells.insert(of_cells.begin(), {shape[axis], along});
      offset += lower * shape[axis] * along;
      along *= stored_bricks * shape[axis];
    }
    of_boxes.insert(of_boxes.end(), of_cells.begin(), of_cells.end());
    parts.push_back(Layout::box(offset, shape[0] * element_bytes, of_boxes));
  }
  return Layout::sequence(parts);
}

}  // namespace strake
