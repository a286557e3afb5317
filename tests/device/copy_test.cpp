/// \file  Copies by a device, compared with a walk of both layouts on the host: every byte of the
/// target.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "device_test.hpp"

namespace strake {
namespace {

constexpr std::array kKinds{MemoryKind::Host, MemoryKind::Pinned, MemoryKind::Managed,
                            MemoryKind::Device};

TEST(DeviceCopy, packs_and_unpacks_random_layouts) {
  STRAKE_NEEDS_DEVICE();
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::int64_t unit = std::int64_t{1} << seed % 5;
    const Layout layout = random_layout(random, unit);
    const Layout dense = Layout::dense(layout.size_bytes());
    expect_copy(dense, MemoryKind::Device, layout, MemoryKind::Device);
    expect_copy(layout, MemoryKind::Device, dense, MemoryKind::Device);
  }
}

TEST(DeviceCopy, moves_layout_to_layout) {
  STRAKE_NEEDS_DEVICE();
  int pairs = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::int64_t unit = std::int64_t{1} << seed % 5;
    const Layout from = random_layout(random, unit);
    // `to` has as many bytes in another shape: rows of two units, where they fit.
    if (from.size_bytes() % (2 * unit) != 0) continue;
    const Dim dim{from.size_bytes() / (2 * unit), 5 * unit};
    const Layout to = Layout::box(0, 2 * unit, {&dim, 1});
    expect_copy(to, MemoryKind::Device, from, MemoryKind::Device);
    expect_copy(from, MemoryKind::Device, to, MemoryKind::Device);
    ++pairs;
  }
  EXPECT_GT(pairs, 10);
}

TEST(DeviceCopy, reaches_every_pair_of_memories) {
  STRAKE_NEEDS_DEVICE();
  std::mt19937_64 random(77);
  const Dim dim{300, 40};
  const std::array layouts{Layout::box(16, 24, {&dim, 1}), random_layout(random, 4),
                           Layout::dense(5000)};
  for (const MemoryKind to : kKinds) {
    for (const MemoryKind from : kKinds) {
      if (to == MemoryKind::Host && from == MemoryKind::Host) continue;
      for (const Layout& layout : layouts) {
        const Layout dense = Layout::dense(layout.size_bytes());
        expect_copy(dense, to, layout, from);
        expect_copy(layout, to, dense, from);
        expect_copy(layout, to, layout, from);
      }
    }
  }
  EXPECT_THROW((void)copier().compile(layouts[0], {}, layouts[0], {}), Unsupported);
}

TEST(DeviceCopy, stages_pageable_memory_in_chunks) {
  STRAKE_NEEDS_DEVICE();
  // 3.4 MB: several of the staging buffers' 1 MiB, and a ragged rest.
  const Dim dim{141'777, 40};
  const Layout layout = Layout::box(8, 24, {&dim, 1});
  const Layout dense = Layout::dense(layout.size_bytes());
  for (const ByteRange part : {ByteRange::all(), ByteRange{12345, 2'500'001}}) {
    expect_copy(dense, MemoryKind::Host, layout, MemoryKind::Device, part);
    expect_copy(layout, MemoryKind::Device, dense, MemoryKind::Host, part);
    expect_copy(layout, MemoryKind::Host, dense, MemoryKind::Device, part);
    expect_copy(dense, MemoryKind::Device, layout, MemoryKind::Host, part);
  }
}

TEST(DeviceCopy, moves_any_part) {
  STRAKE_NEEDS_DEVICE();
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(1000 + seed);
    const Layout layout = random_layout(random, std::int64_t{1} << seed % 5);
    const Layout dense = Layout::dense(layout.size_bytes());
    const auto size = static_cast<std::uint64_t>(layout.size_bytes());
    std::int64_t begin = static_cast<std::int64_t>(random() % (size + 1));
    std::int64_t end = static_cast<std::int64_t>(random() % (size + 1));
    if (begin > end) std::swap(begin, end);
    expect_copy(dense, MemoryKind::Device, layout, MemoryKind::Device, {begin, end});
    expect_copy(layout, MemoryKind::Device, dense, MemoryKind::Pinned, {begin, end});
    expect_copy(layout, MemoryKind::Device, layout, MemoryKind::Device, {begin, end});
  }
}

TEST(DeviceCopy, takes_misaligned_bases) {
  STRAKE_NEEDS_DEVICE();
  const Dim dim{200, 48};
  const Layout box = Layout::box(0, 16, {&dim, 1});
  // 8 blocks of one byte, 13 apart: vector(10, 8, 13, MPI_BYTE) with no word but the byte.
  const Dim odd{10, 13};
  for (const Layout& layout : {box, Layout::box(0, 8, {&odd, 1}), Layout::dense(4001)}) {
    const Layout dense = Layout::dense(layout.size_bytes());
    for (std::int64_t skew = 0; skew < 17; ++skew) {
      expect_copy(dense, MemoryKind::Device, layout, MemoryKind::Device, ByteRange::all(), skew, 0);
      expect_copy(dense, MemoryKind::Device, layout, MemoryKind::Device, {skew, 79}, 0, skew);
      expect_copy(layout, MemoryKind::Device, dense, MemoryKind::Device, ByteRange::all(), skew, 3);
    }
  }
}

/// Blocks of `shortest` to `longest` units in random order, with gaps of up to four units.
Layout random_list(std::mt19937_64& random, std::int64_t blocks, std::int64_t unit,
                   std::int64_t shortest, std::int64_t longest) {
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> offsets;
  std::int64_t at = 0;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const auto range = static_cast<std::uint64_t>(longest - shortest + 1);
    lengths.push_back((shortest + static_cast<std::int64_t>(random() % range)) * unit);
    at += static_cast<std::int64_t>(random() % 5) * unit;
    offsets.push_back(at);
    at += lengths.back();
  }
  // Offsets and lengths are shuffled alike.
  std::vector<std::size_t> order(offsets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::int64_t> shuffled_offsets;
  std::vector<std::int64_t> shuffled_lengths;
  for (const std::size_t i : order) {
    shuffled_offsets.push_back(offsets[i]);
    shuffled_lengths.push_back(lengths[i]);
  }
  return Layout::blocks(shuffled_offsets, shuffled_lengths);
}

TEST(DeviceCopy, lists_of_every_alignment_and_length) {
  STRAKE_NEEDS_DEVICE();
  struct Case {
    std::int64_t blocks, unit, shortest, longest;
  };
  // Shorter and longer than a word and than 32 words; equal lengths; more words than run at once.
  for (const Case& c : {Case{3000, 1, 8, 128},
                        {3000, 1, 1, 40},
                        {3000, 1, 13, 13},
                        {500, 2, 4, 700},
                        {3000, 4, 1, 30},
                        {3000, 8, 1, 16},
                        {1000, 16, 1, 9},
                        {90'000, 1, 8, 128},
                        {90'000, 4, 1, 20}}) {
    std::mt19937_64 random(static_cast<std::uint64_t>(c.blocks * 31 + c.unit));
    const Layout list = random_list(random, c.blocks, c.unit, c.shortest, c.longest);
    SCOPED_TRACE(std::to_string(c.blocks) + " blocks, unit " + std::to_string(c.unit));
    const Layout dense = Layout::dense(list.size_bytes());
    const ByteRange middle{list.size_bytes() / 3 + 1, list.size_bytes() / 2 + 3};
    for (const std::int64_t skew : {0, 1, 2, 4, 7, 8, 13}) {
      for (const ByteRange part : {ByteRange::all(), middle}) {
        expect_copy(dense, MemoryKind::Device, list, MemoryKind::Device, part, skew, 0);
        expect_copy(dense, MemoryKind::Pinned, list, MemoryKind::Device, part, 0, skew);
        expect_copy(list, MemoryKind::Device, dense, MemoryKind::Device, part, skew, 0);
        expect_copy(list, MemoryKind::Device, dense, MemoryKind::Pinned, part, 0, skew);
      }
    }
  }
}

TEST(DeviceCopy, kernels_of_one_queue_see_what_those_before_wrote) {
  STRAKE_NEEDS_DEVICE();
  // Each may be set up while the one before it still runs: here each reads what that one writes, or
  // writes what that one reads.
  constexpr int kRounds = 50;
  const Dim rows{40'000, 64};
  const Layout box = Layout::box(8, 24, {&rows, 1});
  const std::int64_t bytes = box.size_bytes();
  const Place place = place_of(MemoryKind::Device);
  const auto pack = copier().compile(Layout::dense(bytes), place, box, place);
  const auto unpack = copier().compile(box, place, Layout::dense(bytes), place);
  Memory given(MemoryKind::Device, kRounds * bytes);
  const Memory found(MemoryKind::Device, kRounds * bytes);
  const Memory strided(MemoryKind::Device, rows.count * rows.stride_bytes);
  const std::vector<std::byte> content = random_bytes(kRounds * bytes, 3);
  given.write(content);
  const auto queue = backend().make_queue(0);
  for (std::int64_t round = 0; round < kRounds; ++round) {
    const std::int64_t at = round * bytes;
    unpack->enqueue_untracked(*queue, strided.data(), given.data() + at, ByteRange::all());
    pack->enqueue_untracked(*queue, found.data() + at, strided.data(), ByteRange::all());
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(found.read() == content);
}

TEST(DeviceCopy, engines_agree_with_kernels) {
  STRAKE_NEEDS_DEVICE();
  const Dim row{50, 640};
  const std::array planes{Dim{6, 640 * 20}, Dim{11, 640}};
  const std::array<std::int64_t, 5> offsets{0, 5000, 300, 9000, 7000};
  const std::array<std::int64_t, 5> lengths{100, 200, 50, 300, 7};
  for (const Layout& layout : {Layout::box(64, 512, {&row, 1}), Layout::box(128, 320, planes),
                               Layout::blocks(offsets, lengths), Layout::dense(100'000, 16)}) {
    const Layout dense = Layout::dense(layout.size_bytes());
    for (const MemoryKind kind : {MemoryKind::Device, MemoryKind::Pinned, MemoryKind::Managed}) {
      for (const ByteRange part : {ByteRange::all(), ByteRange{512, 1024}, ByteRange{100, 333}}) {
        expect_copy(dense, kind, layout, MemoryKind::Device, part, 0, 0, CopyVariant::Engine);
        expect_copy(layout, MemoryKind::Device, dense, kind, part, 0, 0, CopyVariant::Engine);
      }
    }
  }
}

TEST(DeviceCopy, moves_an_empty_layout_and_an_empty_part) {
  STRAKE_NEEDS_DEVICE();
  expect_copy(Layout(), MemoryKind::Device, Layout(), MemoryKind::Device);
  expect_copy(Layout::dense(100), MemoryKind::Device, Layout::dense(100), MemoryKind::Device,
              {50, 50});
  EXPECT_THROW((void)copier().compile(Layout::dense(8), place_of(MemoryKind::Device),
                                      Layout::dense(9), place_of(MemoryKind::Device)),
               InvalidArgument);
}

TEST(DeviceCopy, repeats_an_irregular_child_and_many_members_in_one_launch) {
  STRAKE_NEEDS_DEVICE();
  // struct{int; uint64} with count 17,000, and a struct of 65,530 members.
  const std::array<std::int64_t, 2> offsets{0, 8};
  const std::array<std::int64_t, 2> lengths{4, 8};
  const Layout gaps = Layout::blocks(offsets, lengths).repeated(17'000, 16);
  expect_copy(Layout::dense(gaps.size_bytes()), MemoryKind::Device, gaps, MemoryKind::Device);
  expect_copy(gaps, MemoryKind::Device, Layout::dense(gaps.size_bytes()), MemoryKind::Device);
  std::vector<std::int64_t> many_offsets;
  std::vector<std::int64_t> many_lengths;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < 65'530; ++i) {
    many_offsets.push_back(at);
    many_lengths.push_back(4 + i % 3 * 4);
    at += many_lengths.back() + 4 + i % 2 * 8;
  }
  const Layout members = Layout::blocks(many_offsets, many_lengths);
  expect_copy(Layout::dense(members.size_bytes()), MemoryKind::Device, members, MemoryKind::Device);
  expect_copy(members, MemoryKind::Device, Layout::dense(members.size_bytes()), MemoryKind::Device);
}

TEST(DeviceCopy, reaches_past_two_gigabytes) {
  STRAKE_NEEDS_DEVICE();
  constexpr std::int64_t kFar = std::int64_t{3} << 30;
  constexpr std::int64_t kRow = 4096;  // such rows go to the host by copy engines, where they can
  void* memory = nullptr;
  if (cudaMalloc(&memory, 2 * kFar + kRow) != cudaSuccess) {
    (void)cudaGetLastError();
    GTEST_SKIP() << "less than 6 GiB of device memory is free";
  }
  auto* const base = static_cast<std::byte*>(memory);
  const std::vector<std::byte> given = random_bytes(3 * kRow, 5);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(cudaMemcpy(base + i * kFar, given.data() + i * kRow, kRow, cudaMemcpyDefault),
              cudaSuccess);
  }
  const Dim dim{3, kFar};
  const std::array<std::int64_t, 3> offsets{0, kFar, 2 * kFar};
  const std::array<std::int64_t, 3> lengths{kRow, 48, kRow};
  for (const Layout& layout : {Layout::box(0, kRow, {&dim, 1}), Layout::blocks(offsets, kRow),
                               Layout::blocks(offsets, lengths)}) {
    std::vector<std::byte> expected;
    layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
      const auto first = given.begin() + offset / kFar * kRow;
      expected.insert(expected.end(), first, first + length);
    });
    for (const MemoryKind kind : {MemoryKind::Device, MemoryKind::Pinned}) {
      const Memory dense(kind, layout.size_bytes());
      const auto queue = backend().make_queue(0);
      const auto plan = copier().compile(Layout::dense(layout.size_bytes()), place_of(kind), layout,
                                         place_of(MemoryKind::Device));
      queue->wait(plan->enqueue(*queue, dense.data(), base, ByteRange::all()));
      EXPECT_TRUE(dense.read() == expected) << layout.to_string();
    }
  }
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST(DeviceCopy, moves_more_words_than_31_bits_count) {
  STRAKE_NEEDS_DEVICE();
  // 2 GiB and 64 KiB of single bytes: the box kernel's index would wrap.
  constexpr std::int64_t kCount = (std::int64_t{1} << 31) + (1 << 16);
  void* strided = nullptr;
  void* dense = nullptr;
  if (cudaMalloc(&strided, 2 * kCount) != cudaSuccess ||
      cudaMalloc(&dense, kCount) != cudaSuccess) {
    (void)cudaGetLastError();
    (void)cudaFree(strided);
    GTEST_SKIP() << "less than 6 GiB of device memory is free";
  }
  ASSERT_EQ(cudaMemset(strided, 1, 2 * kCount), cudaSuccess);
  ASSERT_EQ(cudaMemset(dense, 0, kCount), cudaSuccess);
  auto* const last = static_cast<std::byte*>(strided) + 2 * (kCount - 1);
  const std::byte mark{9};
  ASSERT_EQ(cudaMemcpy(last, &mark, 1, cudaMemcpyDefault), cudaSuccess);
  const Dim dim{kCount, 2};
  const Layout layout = Layout::box(0, 1, {&dim, 1});
  const Place place = place_of(MemoryKind::Device);
  const auto plan = copier().compile(Layout::dense(kCount), place, layout, place);
  const auto queue = backend().make_queue(0);
  queue->wait(plan->enqueue(*queue, static_cast<std::byte*>(dense),
                            static_cast<std::byte*>(strided), ByteRange::all()));
  std::vector<std::byte> tail(1 << 17);
  ASSERT_EQ(cudaMemcpy(tail.data(), static_cast<std::byte*>(dense) + kCount - (1 << 17),
                       tail.size(), cudaMemcpyDefault),
            cudaSuccess);
  std::vector<std::byte> expected(1 << 17, std::byte{1});
  expected.back() = mark;
  EXPECT_TRUE(tail == expected);
  EXPECT_EQ(cudaFree(strided), cudaSuccess);
  EXPECT_EQ(cudaFree(dense), cudaSuccess);
}

}  // namespace
}  // namespace strake
