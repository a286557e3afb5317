/// \file  Copies compared byte by byte with what Layout::for_each_block says.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "copy/cpu/compile.hpp"
#include "guarded_buffer.hpp"
#include "random_layouts.hpp"
#include "strake/layout.hpp"

namespace strake {

/// Offset of every packed byte.
inline std::vector<std::int64_t> byte_offsets(const Layout& layout) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(layout.size_bytes()));
  std::int64_t* next = offsets.data();
  layout.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
    for (std::int64_t i = 0; i < bytes; ++i) *next++ = offset + i;
  });
  return offsets;
}

inline bool overlaps_itself(const Layout& layout) {
  std::vector<std::int64_t> offsets = byte_offsets(layout);
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

/// Runs the copy on fresh guarded memory, and compares all of the destination's bytes with a copy
/// made byte by byte.
inline void expect_copies(const Layout& to, const Layout& from, ByteRange part,
                          const cpu::Options& options, Random& random) {
  const GuardedBuffer source(std::max<std::int64_t>(from.bounds().size(), 1), (random() & 1) != 0);
  // Flush with the page behind, the base is misaligned by whatever the size leaves over.
  const GuardedBuffer target(std::max<std::int64_t>(to.bounds().size(), 1), (random() & 1) != 0);
  source.fill(random);
  target.fill(random);
  std::vector<std::byte> expected = target.contents();
  const auto to_offsets = byte_offsets(to);
  const auto from_offsets = byte_offsets(from);
  std::byte* const to_base = expected.data() - to.bounds().begin;
  const std::byte* const from_base = source.data() - from.bounds().begin;
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    const auto k = static_cast<std::size_t>(i);
    to_base[to_offsets[k]] = from_base[from_offsets[k]];
  }
  const cpu::OpPtr op = cpu::compile(to, from, options);
  ASSERT_EQ(op->size_bytes(), to.size_bytes());
  cpu::run_range(*op, target.data() - to.bounds().begin, source.data() - from.bounds().begin, part);
  ASSERT_TRUE(target.contents() == expected)
      << op->description() << " part [" << part.begin << ", " << part.end << ") of "
      << from.to_string() << " to " << to.to_string();
}

/// Whole, and some random parts.
inline void expect_copies_all(const Layout& to, const Layout& from, const cpu::Options& options,
                              Random& random) {
  const std::int64_t size = to.size_bytes();
  expect_copies(to, from, {0, size}, options, random);
  for (int i = 0; i < 3 && size > 0; ++i) {
    const std::int64_t a = pick(random, 0, size);
    const std::int64_t b = pick(random, 0, size);
    if (testing::Test::HasFatalFailure()) return;
    expect_copies(to, from, {std::min(a, b), std::max(a, b)}, options, random);
  }
}

}  // namespace strake
