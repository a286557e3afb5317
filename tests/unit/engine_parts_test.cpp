// Copies of engines, read as an engine reads them.
#include "copy/cuda/engine_parts.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "expect_copies.hpp"

namespace strake::cuda {
namespace {

std::vector<std::int64_t> offsets_of(const EnginePart& part, const EngineSide& side) {
  EXPECT_GE(side.pitch, part.row_bytes);
  EXPECT_GE(side.plane_rows, part.rows);
  std::vector<std::int64_t> offsets;
  for (std::int64_t plane = 0; plane < part.planes; ++plane)
    for (std::int64_t row = 0; row < part.rows; ++row)
      for (std::int64_t byte = 0; byte < part.row_bytes; ++byte)
        offsets.push_back(side.offset + (plane * side.plane_rows + row) * side.pitch + byte);
  return offsets;
}

/// Whether engines take it; they move what it says then.
bool is_taken(const Layout& to, const Layout& from) {
  const auto part = engine_part_of({to, 3, from, 5});
  if (!part) return false;
  EXPECT_EQ(part->to.slot, 3);
  EXPECT_EQ(part->from.slot, 5);
  EXPECT_EQ(offsets_of(*part, part->to), byte_offsets(to));
  EXPECT_EQ(offsets_of(*part, part->from), byte_offsets(from));
  return true;
}

Layout box(std::int64_t block, std::vector<Dim> dims, std::int64_t offset = 24) {
  return Layout::box(offset, block, dims);
}
Layout dense(const Layout& like) { return Layout::dense(like.size_bytes(), 8); }

TEST(EngineParts, what_is_dense_on_one_side_or_both_is_taken) {
  for (const Layout& layout : {box(40, {}), box(16, {{5, 64}}), box(24, {{3, 640}, {4, 64}}),
                               box(16, {{2, 64}, {4, 16}}, -7)}) {
    EXPECT_TRUE(is_taken(dense(layout), layout)) << layout.to_string();
    EXPECT_TRUE(is_taken(layout, dense(layout))) << layout.to_string();
  }
}

TEST(EngineParts, boxes_of_one_shape_are_taken) {
  EXPECT_TRUE(is_taken(box(24, {{3, 640}, {4, 64}}), box(24, {{3, 320}, {4, 32}}, 0)));
  EXPECT_TRUE(is_taken(box(24, {{3, 640}}), box(24, {{3, 32}}, 0)));
  EXPECT_FALSE(is_taken(box(24, {{3, 640}, {4, 64}}), box(24, {{4, 640}, {3, 64}})));
  EXPECT_FALSE(is_taken(box(24, {{4, 64}}), box(12, {{8, 64}})));
}

TEST(EngineParts, other_layouts_are_left) {
  const std::int64_t far[] = {0, 100, 150};
  for (const Layout& layout :
       {Layout::blocks(far, 8), box(8, {{3, 4000}, {3, 400}, {3, 40}}), box(8, {{5, -64}}),
        box(8, {{3, 64}, {3, 640}}), box(24, {{3, 650}, {4, 64}}), box(24, {{3, 128}, {4, 64}}),
        box(8, {{3, std::int64_t{1} << 31}}), box(8, {{3, 0}}), Layout()}) {
    EXPECT_FALSE(is_taken(dense(layout), layout)) << layout.to_string();
    EXPECT_FALSE(is_taken(layout, dense(layout))) << layout.to_string();
  }
  const Layout large = Layout::dense(std::int64_t{1} << 31);
  EXPECT_FALSE(engine_part_of({large, 0, large, 1}));
}

}  // namespace
}  // namespace strake::cuda
