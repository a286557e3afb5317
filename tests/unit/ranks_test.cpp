/// \file  The tables by which kernels find a word's block.
#include "copy/cuda/ranks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <limits>
#include <random>
#include <vector>

#include "strake/layout.hpp"

namespace strake::cuda {
namespace {

/// As the kernels do it.
std::size_t block_of(const std::vector<Rank>& ranks, std::int64_t word) {
  const Rank rank = ranks[static_cast<std::size_t>(word / 32)];
  return rank.before + static_cast<std::uint32_t>(std::popcount(rank.begins << (31 - word % 32)));
}

Layout random_list(std::uint64_t seed, std::int64_t unit) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> lengths;
  std::int64_t at = 0;
  for (int b = 0; b < 200; ++b) {
    lengths.push_back((1 + static_cast<std::int64_t>(random() % 90)) * unit);
    at += (1 + static_cast<std::int64_t>(random() % 3)) * unit;
    offsets.push_back(at);
    at += lengths.back();
  }
  return Layout::blocks(offsets, lengths);
}

TEST(Ranks, find_the_block_of_every_word) {
  for (const int log2 : {0, 2, 4}) {
    const Layout list = random_list(17, std::int64_t{1} << log2);
    ASSERT_EQ(list.kind(), Layout::Kind::Blocks);
    const auto table = RankedTable::make(list, log2);
    ASSERT_TRUE(table.has_value());
    std::int64_t word = 0;
    // A layout's own offset is apart from those of its blocks.
    list.for_each_block([&](std::int64_t offset, std::int64_t length) {
      for (std::int64_t i = 0; i < length >> log2; ++i, ++word) {
        const std::int64_t delta = table->deltas[block_of(table->ranks, word)];
        ASSERT_EQ(list.offset() + ((delta + word) << log2), offset + (i << log2)) << word;
      }
    });
    EXPECT_EQ(word, list.size_bytes() >> log2);
  }
}

TEST(Ranks, give_each_block_words_for_any_alignment) {
  const Layout list = random_list(23, 1);
  const auto table = ScatterTable::make(list);
  ASSERT_TRUE(table.has_value());
  std::size_t block = 0;
  list.for_each_block([&](std::int64_t offset, std::int64_t length) {
    const ScatterBlock& entry = table->blocks[block];
    EXPECT_EQ(list.offset() + entry.offset, offset);
    EXPECT_EQ(entry.bytes, length);
    const std::uint32_t words = table->blocks[block + 1].first_word - entry.first_word;
    EXPECT_GE(words * 8, static_cast<std::uint32_t>(length) + 7);
    for (std::uint32_t i = 0; i < words; ++i) {
      EXPECT_EQ(block_of(table->ranks, entry.first_word + i), block);
    }
    ++block;
  });
}

TEST(Ranks, are_not_made_for_what_32_bits_do_not_hold) {
  const std::int64_t far = std::int64_t{16} << std::numeric_limits<std::int32_t>::digits;
  const std::array<std::int64_t, 3> offsets{0, far, 64};
  const std::array<std::int64_t, 3> lengths{16, 32, 48};
  const Layout list = Layout::blocks(offsets, lengths);
  EXPECT_FALSE(RankedTable::make(list, 3).has_value());
  EXPECT_FALSE(ScatterTable::make(list).has_value());
  EXPECT_FALSE(GatherTable::make(list).has_value());
}

}  // namespace
}  // namespace strake::cuda
