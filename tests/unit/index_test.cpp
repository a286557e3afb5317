/// \file  The index arithmetic that all back ends share, against `/`, `%` and plain loops.
#include "copy/index.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "copy/cuda/tables.hpp"

namespace strake {
namespace {

/// Every small divisor, and the neighbours of every power of two.
std::vector<std::uint64_t> divisors(int bits) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t d = 1; d <= 1100; ++d) all.push_back(d);
  for (int log2 = 11; log2 < bits; ++log2) {
    const std::uint64_t power = std::uint64_t{1} << log2;
    for (const std::uint64_t d : {power - 1, power, power + 1, power + power / 2}) {
      if (d < std::uint64_t{1} << bits) all.push_back(d);
    }
  }
  all.push_back((std::uint64_t{1} << bits) - 1);
  return all;
}

/// Numbers around multiples of d, small and as large as the division takes.
std::vector<std::uint64_t> dividends(std::uint64_t d, int bits) {
  const std::uint64_t largest = (std::uint64_t{1} << bits) - 1;
  std::vector<std::uint64_t> all{0, 1, largest, largest - 1, largest / 2};
  for (const std::uint64_t multiple :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{1000}, largest / d / 2,
        largest / d - (largest / d > 0), largest / d}) {
    if (multiple > largest / d) continue;
    const std::uint64_t n = multiple * d;
    if (n > 0) all.push_back(n - 1);
    all.push_back(n);
    if (n < largest) all.push_back(n + 1);
  }
  return all;
}

TEST(Index, div32_equals_division_for_all_edges) {
  for (const std::uint64_t d : divisors(31)) {
    const strake_div32 div = strake_make_div32(static_cast<strake_u32>(d));
    for (const std::uint64_t n : dividends(d, 31)) {
      ASSERT_EQ(strake_quot32(div, static_cast<strake_u32>(n)), n / d) << n << " / " << d;
    }
  }
}

TEST(Index, div32_takes_a_divisor_past_every_dividend) {
  const strake_div32 div = strake_make_div32(strake_u32{1} << 31);
  EXPECT_EQ(strake_quot32(div, 0x7fffffff), 0U);
  EXPECT_EQ(strake_quot32(div, 0), 0U);
}

TEST(Index, div32_equals_division_for_all_small_numbers) {
  for (strake_u32 d = 1; d <= 300; ++d) {
    const strake_div32 div = strake_make_div32(d);
    for (strake_u32 n = 0; n < 20000; ++n)
      ASSERT_EQ(strake_quot32(div, n), n / d) << n << " / " << d;
  }
}

TEST(Index, div64_equals_division_for_all_edges) {
  for (const std::uint64_t d : divisors(63)) {
    const strake_div64 div = strake_make_div64(d);
    for (const std::uint64_t n : dividends(d, 63)) {
      ASSERT_EQ(strake_quot64(div, n), n / d) << n << " / " << d;
    }
  }
}

TEST(Index, div64_equals_division_for_random_numbers) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t d = (random() >> (1 + random() % 63)) | 1;
    const std::uint64_t n = random() >> (1 + random() % 63);
    ASSERT_EQ(strake_quot64(strake_make_div64(d), n), n / d) << n << " / " << d;
  }
}

TEST(Index, box32_offset_is_block_start_plus_remainder) {
  // 3 x 5 x 7 blocks of 6 words of 4 bytes, one dim backwards.
  constexpr std::array<std::int64_t, 4> kCounts{7, 5, 3, 1};
  strake_box32 box{};
  box.block = strake_make_div32(6);
  box.count[0] = strake_make_div32(7);
  box.count[1] = strake_make_div32(5);
  box.count[2] = strake_make_div32(strake_u32{1} << 31);
  box.stride_bytes[0] = 40;
  box.stride_bytes[1] = -1000;
  box.stride_bytes[2] = std::int64_t{3} << 30;
  strake_u32 word = 0;
  for (std::int64_t k = 0; k < kCounts[2]; ++k) {
    for (std::int64_t j = 0; j < kCounts[1]; ++j) {
      for (std::int64_t i = 0; i < kCounts[0]; ++i) {
        for (std::int64_t r = 0; r < 6; ++r, ++word) {
          ASSERT_EQ(strake_box32_offset(&box.block, box.count, box.stride_bytes, 4, 2, word),
                    k * (std::int64_t{3} << 30) - j * 1000 + i * 40 + r * 4);
        }
      }
    }
  }
}

/// Compares the tables with the layout's own walk, byte by byte.
void expect_same_bytes(const Layout& layout) {
  const cuda::Tables tables(layout);
  std::vector<std::byte> image(static_cast<std::size_t>(tables.image_bytes()) + 16);
  const strake_tree tree = tables.pack_image(image.data(), image.data());
  std::int64_t p = 0;
  layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i, ++p) {
      const strake_spot spot = strake_locate(&tables.root(), tree, p);
      ASSERT_EQ(spot.offset, offset + i) << "byte " << p << " of " << layout.to_string();
      ASSERT_GE(spot.left, length - i);
      ASSERT_EQ((offset - layout.offset()) % (1 << tables.word_log2()), 0);
      ASSERT_EQ(length % (1 << tables.word_log2()), 0);
    }
  });
  ASSERT_EQ(p, layout.size_bytes());
  std::int64_t moved = 0;
  tables.for_each_run(p / 3, p,
                      [&](std::int64_t, std::int64_t, std::int64_t length) { moved += length; });
  EXPECT_EQ(moved, p - p / 3);
}

TEST(Tables, hold_boxes_of_any_dims) {
  const std::array dims{Dim{3, 100000}, Dim{2, -9000}, Dim{5, 700}, Dim{2, 300}, Dim{4, 40}};
  for (std::size_t count = 0; count <= dims.size(); ++count) {
    expect_same_bytes(Layout::box(24, 24, std::span(dims).last(count)));
  }
}

TEST(Tables, hold_lists_narrow_and_wide) {
  std::mt19937_64 random(2);
  for (const std::int64_t scale :
       {std::int64_t{1}, std::int64_t{8}, std::int64_t{1} << 34, (std::int64_t{1} << 34) + 1}) {
    std::vector<std::int64_t> offsets;
    std::vector<std::int64_t> lengths;
    for (std::int64_t i = 0; i < 300; ++i) {
      offsets.push_back((static_cast<std::int64_t>(random() % 5000) - 1000) * scale * 16);
      lengths.push_back(1 + static_cast<std::int64_t>(random() % 40));
    }
    expect_same_bytes(Layout::blocks(offsets, 12));
    expect_same_bytes(Layout::blocks(offsets, lengths));
  }
}

TEST(Tables, hold_repeats_and_sequences_of_anything) {
  const std::array<std::int64_t, 4> offsets{64, 0, 200, 300};
  const std::array<std::int64_t, 4> lengths{8, 12, 4, 16};
  const std::array dims{Dim{3, 512}, Dim{4, 64}};
  const std::array parts{Layout::blocks(offsets, lengths), Layout::box(4096, 8, dims),
                         Layout::blocks(offsets, 8).shifted(9000), Layout::dense(100, 20000)};
  const Layout sequence = Layout::sequence(parts);
  expect_same_bytes(sequence);
  expect_same_bytes(sequence.repeated(7, 30000));
  expect_same_bytes(Layout::blocks(offsets, lengths).repeated(50, -4096));
  const std::array nested{sequence.repeated(3, 30000), Layout::dense(8, 500000)};
  expect_same_bytes(Layout::sequence(nested).repeated(2, 1000000).shifted(13));
}

TEST(Tables, word_is_the_widest_that_divides_all) {
  const Dim dim{10, 48};
  EXPECT_EQ(cuda::Tables(Layout::box(3, 16, {&dim, 1})).word_log2(), 4);
  EXPECT_EQ(cuda::Tables(Layout::box(0, 24, {&dim, 1})).word_log2(), 3);
  const Dim odd{8, 13};
  EXPECT_EQ(cuda::Tables(Layout::box(0, 8, {&odd, 1})).word_log2(), 0);
  const std::array<std::int64_t, 3> offsets{0, 12, 40};
  EXPECT_EQ(cuda::Tables(Layout::blocks(offsets, 8)).word_log2(), 2);
}

}  // namespace
}  // namespace strake
