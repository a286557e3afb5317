/// \file  The tables of batches, read as the kernel reads them.
#include "copy/cuda/batch_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <utility>
#include <vector>

#include "expect_copies.hpp"
#include "random_layouts.hpp"

namespace strake::cuda {
namespace {

using Copy = CopyBatch::Copy;

const std::vector<Place> kPlaces(8, Place{MemoryKind::Device, 0});

/// Where a byte goes to and comes from: slot and offset of both.
struct Moved {
  std::int32_t to_slot;
  std::int64_t to;
  std::int32_t from_slot;
  std::int64_t from;
  friend auto operator<=>(const Moved&, const Moved&) = default;
};

/// In the order of addresses: a batch has none of its own.
std::vector<Moved> expected(const std::vector<Copy>& copies) {
  std::vector<Moved> moved;
  for (const Copy& copy : copies) {
    const auto to = byte_offsets(copy.to);
    const auto from = byte_offsets(copy.from);
    for (std::size_t i = 0; i < to.size(); ++i)
      moved.push_back({copy.to_slot, to[i], copy.from_slot, from[i]});
  }
  std::ranges::sort(moved);
  return moved;
}

/// As the kernel: by tiles, and by their words. In the same order.
std::vector<Moved> found(const BatchTables& tables) {
  std::vector<std::byte> image(static_cast<std::size_t>(tables.image_bytes()) + 16);
  const auto skew = reinterpret_cast<std::uintptr_t>(image.data()) % 16;
  std::byte* const at = image.data() + (16 - skew) % 16;
  const BatchTables::View view = tables.pack_image(at, at);
  std::vector<Moved> moved;
  for (std::int64_t number = 0; number < tables.tiles(); ++number) {
    const strake_batch_tile tile = view.tiles[number];
    const strake_batch_copy& copy = view.copies[tile.copy];
    const std::int64_t first = static_cast<std::int64_t>(tile.index) << tables.tile_log2();
    const std::int64_t end = std::min(copy.words, first + (std::int64_t{1} << tables.tile_log2()));
    for (std::int64_t word = first; word < end; ++word) {
      const std::int64_t to = strake_side_offset(&copy.to, copy.word_log2, word);
      const std::int64_t from = strake_side_offset(&copy.from, copy.word_log2, word);
      EXPECT_EQ((to | from) & ((1 << copy.word_log2) - 1), 0);
      for (std::int64_t byte = 0; byte < std::int64_t{1} << copy.word_log2; ++byte)
        moved.push_back({copy.to.slot, to + byte, copy.from.slot, from + byte});
    }
  }
  std::ranges::sort(moved);
  return moved;
}

/// A list of `bytes` bytes in blocks of random lengths and distances.
Layout cut_anew(Random& random, std::int64_t bytes) {
  std::vector<std::int64_t> offsets, lengths;
  std::int64_t at = pick(random, -100, 100);
  while (bytes > 0) {
    lengths.push_back(std::min(bytes, pick(random, 1, 20) * 8));
    offsets.push_back(at);
    at += lengths.back() + pick(random, 0, 5) * 8;
    bytes -= lengths.back();
  }
  return Layout::blocks(offsets, lengths);
}

TEST(BatchTables, move_every_byte_of_every_copy) {
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    std::vector<Copy> copies;
    for (std::int64_t i = pick(random, 0, 12); i > 0; --i) {
      const Layout layout = random_layout(random);
      if (layout.size_bytes() > 60'000) continue;
      const Layout other[] = {Layout::dense(layout.size_bytes(), pick(random, -40, 40)),
                              layout.shifted(8 * pick(random, -9, 9)),
                              cut_anew(random, layout.size_bytes())};
      Copy copy{other[pick(random, 0, 2)], static_cast<std::int32_t>(i % 5), layout,
                static_cast<std::int32_t>(i % 3)};
      if (pick(random, 0, 1) == 0) std::swap(copy.to, copy.from);
      copies.push_back(copy);
    }
    const BatchTables tables(0, kPlaces, copies, pick(random, 0, 2) * 500);
    ASSERT_TRUE(found(tables) == expected(copies)) << "round " << round;
  }
}

TEST(BatchTables, runs_are_moved_by_wide_words_between_their_ends) {
  for (const std::int64_t to : {0, 3, 16, 21}) {
    for (const std::int64_t from : {0, 3, 5, 19, 32}) {
      for (const std::int64_t bytes : {1, 15, 16, 17, 100, 5000}) {
        const std::vector<Copy> copies = {
            {Layout::dense(bytes, to), 0, Layout::dense(bytes, from), 1}};
        const BatchTables tables(0, kPlaces, copies, 0);
        ASSERT_TRUE(found(tables) == expected(copies)) << to << " " << from << " " << bytes;
        if (bytes >= 100 && (to - from) % 16 == 0) {
          EXPECT_EQ(tables.widest_log2(), 4);
        }
      }
    }
  }
}

TEST(BatchTables, rows_that_interleave_are_one_copy) {
  const Dim rows[] = {{40, 12 * 256}, {12, 256}};
  const auto face = [&](std::int64_t begin) { return Layout::box(begin, 24, rows); };
  const auto packed = [&](std::int64_t at) {
    return Layout::dense(face(0).size_bytes(), at * face(0).size_bytes());
  };
  const std::vector<Copy> copies = {
      {packed(0), 0, face(0), 1},   {packed(1), 0, face(232), 1},  // joined
      {face(208), 2, face(24), 1},  {face(0), 2, face(184), 1},    // joined
      {packed(2), 0, face(512), 1}, {face(24), 2, packed(3), 0}};  // of other rows, other ways
  const BatchTables tables(0, kPlaces, copies, 0);
  std::vector<std::byte> image(static_cast<std::size_t>(tables.image_bytes()));
  const BatchTables::View view = tables.pack_image(image.data(), image.data());
  std::vector<std::int64_t> words(4);
  for (std::int64_t i = 0; i < tables.tiles(); ++i)
    words.at(view.tiles[i].copy) = view.copies[view.tiles[i].copy].words;
  const std::int64_t one = face(0).size_bytes() / 8;
  EXPECT_EQ(words, (std::vector<std::int64_t>{2 * one, 2 * one, one, one}));
  EXPECT_TRUE(found(tables) == expected(copies));
}

TEST(BatchTables, neighbouring_rows_of_two_copies_are_moved_together) {
  // The last and the first columns of 64 rows: the end of each row and the begin of the next.
  const Dim rows[] = {{64, 4096}};
  const Layout first = Layout::box(0, 64, rows);
  const Layout last = Layout::box(4096 - 64, 64, rows);
  const std::vector<Copy> copies = {{Layout::dense(first.size_bytes()), 0, first, 1},
                                    {Layout::dense(last.size_bytes(), 8192), 0, last, 1}};
  const BatchTables tables(0, kPlaces, copies, 1000);
  std::vector<std::byte> image(static_cast<std::size_t>(tables.image_bytes()));
  const BatchTables::View view = tables.pack_image(image.data(), image.data());
  ASSERT_GE(tables.tiles(), 4);
  for (std::int64_t i = 0; i < tables.tiles(); ++i) EXPECT_EQ(view.tiles[i].copy, i % 2);
}

TEST(BatchTables, a_hundred_thousand_copies) {
  std::vector<Copy> copies;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    const Dim dims[] = {{2 + i % 3, 64}};
    const Layout box = Layout::box(1000 * i, 8, dims);
    copies.push_back({Layout::dense(box.size_bytes(), 40 * i), 0, box, 1});
  }
  const BatchTables tables(0, kPlaces, copies, 10'000);
  EXPECT_EQ(tables.tiles(), 100'000);
  EXPECT_TRUE(found(tables) == expected(copies));
}

TEST(BatchTables, faces_of_eight_gibibytes_are_boxes) {
  const Dim dims[] = {{1024, (8 << 20) + 8192}, {1024, 8 << 10}};
  const Layout face = Layout::box(8, 8, dims);
  const std::vector<Copy> copies = {{Layout::dense(face.size_bytes()), 0, face, 1}};
  const BatchTables tables(0, kPlaces, copies, 0);
  EXPECT_FALSE(tables.has_any());
  EXPECT_EQ(tables.box_dims(), 2);
  EXPECT_TRUE(found(tables) == expected(copies));
}

TEST(BatchTables, distances_of_more_than_31_bits_are_trees) {
  const Dim dims[] = {{3, std::int64_t{1} << 40}, {5, 24}};
  const Layout far = Layout::box(8, 8, dims);
  const std::vector<Copy> copies = {{Layout::dense(far.size_bytes()), 0, far, 1}};
  const BatchTables tables(0, kPlaces, copies, 0);
  EXPECT_TRUE(tables.has_trees());
  EXPECT_TRUE(found(tables) == expected(copies));
}

TEST(BatchTables, long_parts_are_copies_of_their_own) {
  const Dim rows[] = {{1000, 64}};
  const Dim others[] = {{30, 1280}, {40, 16}};
  const std::vector<Layout> fields = {Layout::box(0, 8, rows), Layout::box(100'000, 8, others)};
  const Layout all = Layout::sequence(fields).shifted(16);
  const Layout many = all.repeated(3, 200'000);
  const std::vector<Copy> copies = {{Layout::dense(all.size_bytes(), 24), 0, all, 1},
                                    {all.shifted(64), 0, all, 1},
                                    {many, 0, Layout::dense(many.size_bytes()), 1},
                                    {many, 0, many.shifted(8), 1}};
  const BatchTables tables(0, kPlaces, copies, 0);
  EXPECT_FALSE(tables.has_any());
  EXPECT_TRUE(found(tables) == expected(copies));
}

TEST(BatchTables, short_or_many_parts_stay_one_copy) {
  const std::vector<std::int64_t> offsets = {0, 100, 250};
  const std::vector<std::int64_t> lengths = {30, 60, 10};
  const Layout record = Layout::blocks(offsets, lengths);
  // A thousand records of 100 bytes; a thousand of a hundred times that.
  for (const Layout& layout :
       {record.repeated(1000, 300), record.repeated(100, 300).repeated(1000, 40'000)}) {
    const std::vector<Copy> copies = {{Layout::dense(layout.size_bytes()), 0, layout, 1}};
    const BatchTables tables(0, kPlaces, copies, 0);
    EXPECT_TRUE(tables.has_trees());
    EXPECT_LT(tables.image_bytes() - 8 * tables.tiles(), 10'000);
    EXPECT_TRUE(found(tables) == expected(copies));
  }
}

TEST(BatchTables, equal_lists_share_their_tables) {
  Random random(9);
  const Layout list = cut_anew(random, 4000);
  std::vector<Copy> copies = {{Layout::dense(4000), 0, list, 1}};
  const std::int64_t one = BatchTables(0, kPlaces, copies, 0).image_bytes();
  const std::int64_t tiles = BatchTables(0, kPlaces, copies, 0).tiles();
  copies.push_back({Layout::dense(4000), 2, list.shifted(64), 3});
  EXPECT_LE(BatchTables(0, kPlaces, copies, 0).image_bytes(),
            one + static_cast<std::int64_t>(sizeof(strake_batch_copy)) + 8 * tiles + 16);
  EXPECT_TRUE(found(BatchTables(0, kPlaces, copies, 0)) == expected(copies));
}

}  // namespace
}  // namespace strake::cuda
