/// \file  Batches on a device: every byte, one launch, nothing allocated.
#include "allocations.hpp"
#include "capture.hpp"
#include "device_test.hpp"
#include "strake/copy.hpp"

namespace strake {
namespace {

constexpr Place kDevice{MemoryKind::Device, 0};
using Copy = CopyBatch::Copy;
using Slot = CopyBatch::Slot;

/// Copies between two memories of their own, each with its part of both.
struct Many {
  std::vector<Copy> copies;
  std::int64_t to_bytes = 0;
  std::int64_t from_bytes = 0;

  void add(Layout to, Layout from) {
    const auto place = [](Layout layout, std::int64_t& end) {
      const std::int64_t at = (end - layout.bounds().begin + 15) / 16 * 16;
      end = at + layout.bounds().end;
      return layout.shifted(at);
    };
    copies.push_back({place(std::move(to), to_bytes), 1, place(std::move(from), from_bytes), 0});
  }
};

Many random_copies(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Many many;
  for (std::size_t i = 0; i < count; ++i) {
    const Layout strided = random_layout(random, std::int64_t{1} << i % 5);
    const Layout other =
        i % 3 == 0 ? strided
                   : Layout::dense(strided.size_bytes(), static_cast<std::int64_t>(i % 2));
    if (i % 7 < 3) {
      many.add(strided, other);
    } else {
      many.add(other, strided);
    }
  }
  return many;
}

/// Small boxes of three shapes.
Many small_copies(std::size_t count) {
  Many many;
  for (std::size_t i = 0; i < count; ++i) {
    const Dim dims[] = {{2 + static_cast<std::int64_t>(i % 3), 64}};
    const Layout box = Layout::box(0, 8, dims);
    many.add(i % 2 == 0 ? Layout::dense(box.size_bytes()) : box, box);
  }
  return many;
}

/// Runs the batch on a stream, once with each of two pairs of memories at the given skews, and
/// compares every byte.
void expect_moved(const Many& many, std::int64_t to_skew = 0, std::int64_t from_skew = 0) {
  const std::vector<Slot> slots = {{kDevice}, {kDevice}};
  const CopyBatch batch = CopyBatch::compile(slots, many.copies);
  EXPECT_EQ(batch.device(), 0);
  Stream stream = Stream::make(0);
  for (std::uint64_t round = 0; round < 2; ++round) {
    Memory to(MemoryKind::Device, many.to_bytes + to_skew);
    Memory from(MemoryKind::Device, many.from_bytes + from_skew);
    std::vector<std::byte> expected = random_bytes(many.to_bytes + to_skew, 3 + round);
    const std::vector<std::byte> given = random_bytes(many.from_bytes + from_skew, 5 + round);
    to.write(expected);
    from.write(given);
    batch.enqueue(stream, std::vector{from.data() + from_skew, to.data() + to_skew});
    stream.synchronize();
    for (const Copy& copy : many.copies)
      copy_expected(copy.to, expected, to_skew, copy.from, given, from_skew, ByteRange::all());
    ASSERT_TRUE(to.read() == expected)
        << batch.description() << " skews " << to_skew << " and " << from_skew;
  }
}

TEST(DeviceBatch, moves_many_different_copies) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  expect_moved(random_copies(1, 3));
  expect_moved(random_copies(641, 4));
  for (const std::int64_t skew : {1, 2, 4, 8, 12}) expect_moved(random_copies(90, 5), skew, 16);
  expect_moved(random_copies(90, 6), 3, 6);
  expect_moved(small_copies(100'000));
}

TEST(DeviceBatch, runs_with_as_many_slots_as_there_may_be) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  for (const std::int32_t count : {17, 257, CopyBatch::kMaxSlots}) {
    const std::vector<Slot> slots(static_cast<std::size_t>(count), Slot{kDevice});
    std::vector<Copy> copies;
    std::vector<std::byte*> bases;
    Memory memory(MemoryKind::Device, std::int64_t{64} * count);
    for (std::int32_t i = 0; i < count; ++i) {
      bases.push_back(memory.data() + std::int64_t{64} * i);
      copies.push_back({Layout::dense(8, 32), i, Layout::dense(8), count - 1 - i});
    }
    std::vector<std::byte> expected = random_bytes(std::int64_t{64} * count, 3);
    memory.write(expected);
    CopyBatch::compile(slots, copies).run(bases);
    for (std::size_t i = 0; i < bases.size(); ++i)
      std::memcpy(&expected[64 * i + 32], &expected[64 * (bases.size() - 1 - i)], 8);
    EXPECT_TRUE(memory.read() == expected) << count;
  }
}

TEST(DeviceBatch, is_one_launch_that_allocates_nothing) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  for (const std::size_t count : {1, 641, 100'000}) {
    const Many many = small_copies(count);
    const CopyBatch batch =
        CopyBatch::compile(std::vector<Slot>{{kDevice}, {kDevice}}, many.copies);
    const Memory to(MemoryKind::Device, many.to_bytes);
    const Memory from(MemoryKind::Device, many.from_bytes);
    const std::vector<std::byte*> bases = {from.data(), to.data()};
    Stream stream = Stream::make(0);
    // In this mode whatever waits or allocates ends the capture.
    const Graph graph(stream.native(), cudaStreamCaptureModeGlobal,
                      [&] { batch.enqueue(stream, bases); });
    EXPECT_EQ(graph.nodes(), 1U) << count;
    batch.enqueue(stream, bases);
    const long before = allocations();
    for (int i = 0; i < 20; ++i) batch.enqueue(stream, bases);
    EXPECT_EQ(allocations(), before) << count;
    stream.synchronize();
  }
}

/// Each copy as a batch of its own, all in few launches.
void expect_moved_together(const Many& many, MemoryKind to_kind, MemoryKind from_kind) {
  Memory to(to_kind, many.to_bytes);
  Memory from(from_kind, many.from_bytes);
  std::vector<std::byte> expected = random_bytes(many.to_bytes, 7);
  const std::vector<std::byte> given = random_bytes(many.from_bytes, 8);
  to.write(expected);
  from.write(given);
  const Place places[] = {to.place(), from.place()};
  std::vector<std::unique_ptr<DeviceBatch>> batches;
  std::vector<BatchRun> runs;
  for (const Copy& copy : many.copies) {
    const Copy own[] = {{copy.to, 0, copy.from, 1}};
    batches.push_back(copier().compile_batch(0, places, own));
    runs.push_back({batches.back().get(), to.data(), from.data()});
    copy_expected(copy.to, expected, 0, copy.from, given, 0, ByteRange::all());
  }
  const auto queue = backend().make_queue(0, QueueOrder::Own);
  const long before = allocations();
  const Ticket ticket = copier().enqueue_together(*queue, runs);
  EXPECT_EQ(allocations(), before);
  queue->wait(ticket);
  ASSERT_TRUE(to.read() == expected) << runs.size() << " batches";
}

TEST(DeviceBatch, moves_with_others_what_it_moves_alone) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  for (const std::size_t count : {0, 1, 7, 8, 9, 64, 65, 150})
    expect_moved_together(random_copies(count, count), MemoryKind::Device, MemoryKind::Device);
  expect_moved_together(small_copies(40), MemoryKind::Pinned, MemoryKind::Device);
  expect_moved_together(random_copies(40, 2), MemoryKind::Device, MemoryKind::Pinned);
}

TEST(DeviceBatch, in_a_graph_keeps_its_addresses_and_takes_new_data) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const Many many = random_copies(100, 8);
  const CopyBatch batch = CopyBatch::compile(std::vector<Slot>{{kDevice}, {kDevice}}, many.copies);
  Memory to(MemoryKind::Device, many.to_bytes);
  Memory from(MemoryKind::Device, many.from_bytes);
  Memory other(MemoryKind::Device, many.to_bytes);
  Stream stream = Stream::make(0);
  const Graph graph(stream.native(), cudaStreamCaptureModeGlobal, [&] {
    batch.enqueue(stream, std::vector{from.data(), to.data()});
  });
  for (std::uint64_t round = 0; round < 3; ++round) {
    std::vector<std::byte> expected = random_bytes(many.to_bytes, 20 + round);
    const std::vector<std::byte> given = random_bytes(many.from_bytes, 30 + round);
    to.write(expected);
    from.write(given);
    batch.enqueue(stream, std::vector{from.data(), other.data()});
    graph.launch(stream.native());
    stream.synchronize();
    for (const Copy& copy : many.copies)
      copy_expected(copy.to, expected, 0, copy.from, given, 0, ByteRange::all());
    EXPECT_TRUE(to.read() == expected) << round;
  }
}

TEST(DeviceBatch, reaches_pinned_and_managed_memory_but_not_pageable) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const Dim dims[] = {{50, 32}};
  const Layout box = Layout::box(0, 8, dims);
  const auto batch_of = [&](MemoryKind to, MemoryKind from) {
    return CopyBatch::compile(std::vector<Slot>{{place_of(to)}, {place_of(from)}},
                              std::vector<Copy>{{Layout::dense(400), 0, box, 1}}, 0);
  };
  for (const MemoryKind kind : {MemoryKind::Pinned, MemoryKind::Managed, MemoryKind::Device}) {
    Memory to(kind, 400);
    Memory from(MemoryKind::Pinned, 1600);
    const auto given = random_bytes(1600, 4);
    from.write(given);
    batch_of(kind, MemoryKind::Pinned).run(std::vector{to.data(), from.data()});
    const auto found = to.read();
    for (std::size_t i = 0; i < 50; ++i)
      EXPECT_EQ(std::memcmp(&found[8 * i], &given[32 * i], 8), 0) << name_of(kind);
  }
  EXPECT_THROW((void)batch_of(MemoryKind::Host, MemoryKind::Device), Unsupported);
  EXPECT_THROW((void)batch_of(MemoryKind::Device, MemoryKind::Host), Unsupported);
}

/// With STRAKE_CHECK=1 (a test of its own).
TEST(DeviceBatchChecked, refuses_addresses_whose_memory_is_too_small) {
  STRAKE_NEEDS_DEVICE();
  if (std::getenv("STRAKE_CHECK") == nullptr) GTEST_SKIP() << "only with STRAKE_CHECK=1";
  (void)backend();
  const CopyBatch batch =
      CopyBatch::compile(std::vector<Slot>{{kDevice}, {kDevice}},
                         std::vector<Copy>{{Layout::dense(8, 1 << 20), 0, Layout::dense(8), 1}});
  const Memory small(MemoryKind::Device, 1 << 20);
  const Memory large(MemoryKind::Device, (1 << 20) + 8);
  Stream stream = Stream::make(0);
  EXPECT_THROW(batch.enqueue(stream, std::vector{small.data(), large.data()}), InvalidArgument);
  batch.enqueue(stream, std::vector{large.data(), small.data()});
  EXPECT_THROW(batch.enqueue(stream, std::vector{large.data() + 16, small.data()}),
               InvalidArgument);
  stream.synchronize();
}

TEST(DeviceBatch, refuses_streams_that_are_not_its_own) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const CopyBatch batch =
      CopyBatch::compile(std::vector<Slot>{{kDevice}},
                         std::vector<Copy>{{Layout::dense(8), 0, Layout::dense(8, 8), 0}});
  const Memory memory(MemoryKind::Device, 16);
  Stream cpu;
  EXPECT_THROW(batch.enqueue(cpu, std::vector{memory.data()}), InvalidArgument);
  Stream stream = Stream::make(0);
  EXPECT_THROW(batch.enqueue(stream, {}), InvalidArgument);
}

}  // namespace
}  // namespace strake
