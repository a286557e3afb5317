#include "strake/layout.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <functional>
#include <random>
#include <tuple>
#include <vector>

#include "strake/error.hpp"

namespace strake {
namespace {

using Range = std::pair<std::int64_t, std::int64_t>;

/// The bytes of a layout as maximal ranges, in packed order.
std::vector<Range> ranges(const Layout& layout) {
  std::vector<Range> result;
  layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
    if (!result.empty() && result.back().first + result.back().second == offset) {
      result.back().second += length;
    } else {
      result.emplace_back(offset, length);
    }
  });
  return result;
}

Layout relisted(const Layout& layout) {
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> lengths;
  layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
    offsets.push_back(offset);
    lengths.push_back(length);
  });
  return Layout::blocks(offsets, lengths);
}

TEST(Box, canonical_face_of_the_dissertation) {
  // subarray [262,262,2560] [256,256,24] [3,3,24] of bytes, as its IR before canonicalisation
  // (figure 5.9).
  const Dim dims[] = {{256, 670720}, {256, 2560}, {24, 1}};
  const Layout face = Layout::box(2012160 + 7680 + 24, 1, dims);
  EXPECT_EQ(face.kind(), Layout::Kind::Box);
  EXPECT_EQ(face.offset(), 2019864);
  EXPECT_EQ(face.block_bytes(), 24);
  ASSERT_EQ(face.dims().size(), 2U);
  EXPECT_EQ(face.dims()[0], (Dim{256, 670720}));
  EXPECT_EQ(face.dims()[1], (Dim{256, 2560}));
  EXPECT_EQ(face.block_count(), 65536);
  EXPECT_EQ(face.size_bytes(), 1572864);
  EXPECT_LE(face.metadata_bytes(), 64);
}

TEST(Box, a_dimension_of_count_one_keeps_its_offset_but_not_its_dim) {
  const Dim dims[] = {{10, 800}, {1, 80}, {4, 8}};
  const Layout layout = Layout::box(416, 8, dims);
  EXPECT_EQ(layout, Layout::box(416, 32, std::vector<Dim>{{10, 800}}));
}

TEST(Box, order_is_never_changed) {
  const Dim rows_first[] = {{3, 8}, {4, 24}};
  const Layout transpose = Layout::box(0, 8, rows_first);
  EXPECT_EQ(transpose.dims().size(), 2U);
  EXPECT_NE(transpose, Layout::dense(96));
  EXPECT_EQ(ranges(transpose)[1], Range(24, 8));
}

TEST(Box, negative_strides_have_bounds_below_their_offset) {
  const Layout back = Layout::box(0, 4, std::vector<Dim>{{5, -16}});
  EXPECT_EQ(back.bounds(), (ByteRange{-64, 4}));
  EXPECT_EQ(relisted(back), back);
}

TEST(Box, zero_counts_and_blocks_are_empty) {
  EXPECT_EQ(Layout::box(5, 8, std::vector<Dim>{{0, 16}}), Layout());
  EXPECT_EQ(Layout::box(5, 0, std::vector<Dim>{{3, 16}}), Layout());
  EXPECT_EQ(Layout().repeated(7, 3).kind(), Layout::Kind::Empty);
}

TEST(Box, bad_values_are_refused_with_the_values) {
  EXPECT_THROW(Layout::box(0, -1, {}), InvalidArgument);
  EXPECT_THROW(Layout::box(0, 8, std::vector<Dim>{{-2, 16}}), InvalidArgument);
  EXPECT_THROW(Layout::box(0, INT64_MAX / 2, std::vector<Dim>{{3, 16}}), InvalidArgument);
  EXPECT_THROW((void)Layout::dense(8).repeated(-1, 8), InvalidArgument);
  try {
    (void)Layout::blocks(std::vector<std::int64_t>{0, 8}, std::vector<std::int64_t>{4});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("2 offsets but 1 lengths"), std::string::npos);
  }
}

TEST(Box, sizes_past_two_to_the_31) {
  const std::int64_t stride = std::int64_t{3} << 30;
  const Layout layout = Layout::dense(8).repeated(4, stride);
  EXPECT_EQ(layout.bounds().end, 3 * stride + 8);
  EXPECT_EQ(Layout::dense(std::int64_t{5} << 31).size_bytes(), std::int64_t{5} << 31);
}

TEST(Blocks, a_list_that_is_a_vector_becomes_a_box) {
  std::vector<std::int64_t> offsets;
  for (int i = 0; i < 100; ++i) offsets.push_back(i * 512);
  EXPECT_EQ(Layout::blocks(offsets, 8), Layout::box(0, 8, std::vector<Dim>{{100, 512}}));
}

TEST(Blocks, a_nest_whose_rows_touch_is_the_same_box) {
  // Two blocks of 4 at stride 8, rows 12 apart: the end of a row touches the next.
  const Layout nest = Layout::box(0, 4, std::vector<Dim>{{10, 12}, {2, 8}});
  EXPECT_EQ(relisted(nest), nest);
  EXPECT_EQ(nest.dims().size(), 2U);
}

TEST(Blocks, an_irregular_list_costs_its_own_size_once) {
  std::mt19937_64 random(1);
  std::vector<std::int64_t> offsets;
  for (int i = 0; i < 40000; ++i)
    offsets.push_back(static_cast<std::int64_t>(random() % 1000000) * 32);
  const Layout layout = Layout::blocks(offsets, 12);
  EXPECT_LE(layout.metadata_bytes(), 40000 * 9);
  EXPECT_EQ(layout.size_bytes(), 480000);
}

TEST(Repeat, a_struct_with_gaps_is_one_small_repeat_however_it_is_described) {
  const std::vector<std::int64_t> offsets = {0, 8, 24};
  const std::vector<std::int64_t> lengths = {1, 8, 2};
  const Layout one = Layout::blocks(offsets, lengths);
  const Layout many = one.repeated(17000, 32);
  EXPECT_EQ(many.kind(), Layout::Kind::Repeat);
  EXPECT_LE(many.metadata_bytes(), 200);
  EXPECT_EQ(relisted(many), many);
  EXPECT_EQ(one.repeated(170, 32).repeated(100, 170 * 32), many);
  EXPECT_EQ(one.repeated(170, 32).repeated(100, 170 * 32).hash(), many.hash());
}

TEST(Repeat, copies_that_touch_are_found_too) {
  const Layout one =
      Layout::blocks(std::vector<std::int64_t>{0, 8}, std::vector<std::int64_t>{4, 8});
  const Layout many = one.repeated(17000, 16);
  EXPECT_EQ(relisted(many), many);
  EXPECT_LE(many.metadata_bytes(), 300);
}

TEST(Repeat, many_copies_repeated_again_are_not_gone_through) {
  constexpr std::int64_t kCopies = 2'000'000'000;
  const Layout record =
      Layout::blocks(std::vector<std::int64_t>{0, 8}, std::vector<std::int64_t>{4, 3});
  const Layout many = record.repeated(kCopies, 16);
  const auto start = std::clock();
  // Apart, and so that the second touches the end of the first.
  for (const std::int64_t stride : {20 * kCopies, 16 * (kCopies - 1) + 11}) {
    const Layout twice = many.repeated(2, stride);
    EXPECT_EQ(twice.size_bytes(), 14 * kCopies);
    EXPECT_EQ(twice.block_count(), 4 * kCopies);
    EXPECT_EQ(twice.bounds().end, stride + 16 * (kCopies - 1) + 11);
  }
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 1.0);
}

TEST(Repeat, copies_that_touch_their_like_are_equal_to_a_list_whatever_they_are) {
  const std::vector<std::int64_t> apart = {0, 8, 30};
  const Layout record = Layout::blocks(apart, std::vector<std::int64_t>{4, 3, 5});
  const Layout children[] = {
      Layout::dense(12, 7),
      Layout::box(7, 4, std::vector<Dim>{{3, 12}, {2, 5}}),
      Layout::box(-3, 4, std::vector<Dim>{{3, -12}}),
      Layout::blocks(std::vector<std::int64_t>{7, 40, 20}, 6),
      record,
      record.shifted(-9),
      record.repeated(3, 50),
      record.repeated(3, -50),
      Layout::sequence(std::vector<Layout>{record, Layout::dense(9, 100), record.shifted(300)}),
  };
  for (const Layout& child : children) {
    const auto last = ranges(child).back();
    const std::int64_t touching = last.first + last.second - child.offset();
    for (const std::int64_t stride : {touching, touching + 1, -touching, std::int64_t{1000}}) {
      for (const std::int64_t count : {2, 3, 7}) {
        const Layout layout = child.repeated(count, stride);
        EXPECT_EQ(relisted(layout), layout)
            << child.to_string() << ", " << count << " x " << stride;
      }
    }
  }
}

TEST(Blocks, offsets_more_than_two_to_the_63_apart_are_refused) {
  constexpr std::int64_t kFar = INT64_MIN + 8;
  const std::vector<std::int64_t> offsets = {1000, kFar, 16};
  EXPECT_THROW((void)Layout::blocks(offsets, 8), InvalidArgument);
  EXPECT_THROW((void)Layout::blocks(offsets, std::vector<std::int64_t>{8, 8000, 32}),
               InvalidArgument);
  EXPECT_THROW((void)Layout::blocks(std::vector<std::int64_t>{0, INT64_MAX - 4}, 8),
               InvalidArgument);
  const std::vector<Layout> parts = {Layout::dense(8, 1000), Layout::dense(8, kFar)};
  EXPECT_THROW((void)Layout::sequence(parts), InvalidArgument);
  // As far as it goes.
  const std::vector<std::int64_t> near = {0, INT64_MAX - 8};
  EXPECT_EQ(Layout::blocks(near, 8).bounds().end, INT64_MAX);
}

TEST(Sequence, faces_of_a_grid_stay_small) {
  std::vector<Layout> faces;
  for (int side = 0; side < 2; ++side) {
    faces.push_back(Layout::box(24 + side * 4000, 24, std::vector<Dim>{{64, 65536}, {64, 512}}));
    faces.push_back(Layout::box(side * 30000, 512, std::vector<Dim>{{64, 65536}, {3, 512}}));
  }
  const Layout all = Layout::sequence(faces);
  EXPECT_LE(all.metadata_bytes(), 400);
  EXPECT_EQ(relisted(all), all);
}

TEST(Sequence, equal_parts_at_one_distance_are_not_gone_through) {
  constexpr std::int64_t kMany = std::int64_t{1} << 20;
  const Layout part = Layout::box(24, 8, std::vector<Dim>{{kMany, kMany * 32}, {kMany, 16}});
  std::vector<Layout> parts;
  for (int i = 0; i < 6; ++i) parts.push_back(part.shifted(i * kMany * kMany * 40));
  EXPECT_EQ(Layout::sequence(parts), part.repeated(6, kMany * kMany * 40));
}

/// Draws an integer of [low, high].
using Pick = std::function<int(int low, int high)>;

/// A random nest of boxes and lists.
Layout random_nest(const Pick& pick) {
  Layout layout = Layout::dense(pick(1, 12), pick(-50, 50));
  const int depth = pick(1, 4);
  for (int level = 0; level < depth; ++level) {
    const int kind = pick(0, 2);
    if (kind == 0) {
      layout = layout.repeated(pick(1, 6), pick(-3, 12) * 4);
    } else if (kind == 1) {
      std::vector<Layout> parts;
      for (int i = pick(1, 5); i > 0; --i) parts.push_back(layout.shifted(pick(-40, 40) * 4));
      layout = Layout::sequence(parts);
    } else {
      const std::int64_t extent = layout.bounds().size();
      layout = layout.repeated(pick(1, 5), extent).shifted(pick(-9, 9));
    }
  }
  return layout;
}

/// The layout with every block split at random, and the pieces grouped at random.
Layout split_and_grouped(const Layout& layout, const Pick& pick) {
  std::vector<Layout> parts;
  std::vector<Layout> group;
  layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
    while (length > 0) {
      const std::int64_t piece = pick(1, static_cast<int>(length));
      group.push_back(Layout::dense(piece, offset));
      offset += piece;
      length -= piece;
      if (pick(0, 3) == 0) {
        parts.push_back(Layout::sequence(group));
        group.clear();
      }
    }
  });
  parts.push_back(Layout::sequence(group));
  return Layout::sequence(parts);
}

/// One random description of the bytes: equal ones built in different ways must give equal layouts.
class SameBytes : public testing::TestWithParam<unsigned> {};

TEST_P(SameBytes, described_in_many_ways_are_equal) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937 random(GetParam());
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const Layout layout = random_nest(pick);
  const auto expected = ranges(layout);
  const Layout again = relisted(layout);
  EXPECT_EQ(ranges(again), expected);
  EXPECT_EQ(again, layout) << again.to_string() << " against " << layout.to_string();
  EXPECT_EQ(again.hash(), layout.hash());

  const Layout pieced = split_and_grouped(layout, pick);
  EXPECT_EQ(pieced, layout) << pieced.to_string() << " against " << layout.to_string();

  // Equal parts.
  std::vector<Layout> copies;
  const std::int64_t stride =
      pick(0, 1) == 0 ? pick(-30, 60)
                      : expected.back().first + expected.back().second - layout.offset();
  for (int i = pick(2, 5); i > 0; --i) copies.push_back(layout.shifted(i * stride));
  const Layout copied = Layout::sequence(copies);
  EXPECT_EQ(relisted(copied), copied) << copied.to_string();

  // Shifting is free of traces.
  EXPECT_EQ(layout.shifted(1000).shifted(-1000).hash(), layout.hash());
  std::int64_t bytes = 0;
  for (const auto& range : expected) bytes += range.second;
  EXPECT_EQ(layout.size_bytes(), bytes);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SameBytes, testing::Range(0U, 4000U));

TEST(Layout, different_bytes_differ) {
  EXPECT_NE(Layout::dense(8), Layout::dense(9));
  EXPECT_NE(Layout::dense(8), Layout::dense(8, 1));
  EXPECT_NE(Layout::dense(8).hash(), Layout::dense(8, 1).hash());
}

}  // namespace
}  // namespace strake
