/// \file  Copies in CUDA graphs, and what would end a capture.
#include "capture.hpp"

#include "device_test.hpp"
#include "strake/copy.hpp"
#include "strake/stream.hpp"
#include "streams.hpp"

namespace strake {
namespace {

struct Captured {
  const char* name;
  Layout to;
  Layout from;
  MemoryKind to_kind = MemoryKind::Device;
  MemoryKind from_kind = MemoryKind::Device;
};

std::vector<Captured> captured_copies() {
  std::vector<std::int64_t> offsets, lengths, odd_offsets, odd_lengths;
  for (std::int64_t i = 0; i < 200; ++i) {
    offsets.push_back(64 * i);
    lengths.push_back(8 + 8 * (i % 3));
    odd_offsets.push_back(61 * i + 1);
    odd_lengths.push_back(17 + i % 5);
  }
  const Layout equal = Layout::blocks(odd_offsets, 24);
  const Layout listed = Layout::blocks(offsets, lengths);
  const Layout odd = Layout::blocks(odd_offsets, odd_lengths);
  const Dim dims[] = {{20, 8192}, {30, 128}};
  const Layout box = Layout::box(32, 16, dims);
  const Dim long_rows[] = {{16, 8192}};
  const Layout rows = Layout::box(0, 4096, long_rows);
  const Layout tree = odd.repeated(3, 20000);
  const auto dense = [](const Layout& layout) { return Layout::dense(layout.size_bytes()); };
  return {{"box", dense(box), box},
          {"box unpacked", box, dense(box)},
          {"box to box", box, box.shifted(64)},
          {"equal blocks", dense(equal), equal},
          {"listed blocks", listed, dense(listed)},
          {"gathered", dense(odd), odd},
          {"scattered", odd, dense(odd)},
          {"tree", dense(tree), tree},
          {"tree to tree", tree, tree.shifted(8)},
          {"run", Layout::dense(100'000), Layout::dense(100'000, 16)},
          {"rows to pinned memory", dense(rows), rows, MemoryKind::Pinned},
          {"run from pinned memory", Layout::dense(5000), Layout::dense(5000), MemoryKind::Device,
           MemoryKind::Pinned}};
}

TEST(DeviceCapture, graphs_replay_copies_of_every_kind_with_new_data) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const UserStream native;
  Stream stream = Stream::adopt(native);
  for (const Captured& copy : captured_copies()) {
    // The odd ones also begin at odd addresses, for which some kernels need other tables.
    for (const std::int64_t skew : {0, 1}) {
      const CopyPlan plan =
          CopyPlan::compile(copy.to, place_of(copy.to_kind), copy.from, place_of(copy.from_kind));
      Spread to(copy.to_kind, copy.to, skew);
      Spread from(copy.from_kind, copy.from, 0);
      // First run of its kernels, and of all other work.
      const Graph graph(native, cudaStreamCaptureModeGlobal,
                        [&] { plan.enqueue(stream, to.address(), from.address()); });
      for (std::uint64_t round = 0; round < 3; ++round) {
        std::vector<std::byte> expected = random_bytes(to.bytes, round);
        const auto given = random_bytes(from.bytes, 10 + round);
        to.memory.write(expected);
        from.memory.write(given);
        graph.launch(native);
        stream.synchronize();
        copy_expected(copy.to, expected, to.base, copy.from, given, from.base, ByteRange::all());
        EXPECT_TRUE(to.memory.read() == expected) << copy.name << ", skew " << skew;
        plan.run(to.address(), from.address());
        EXPECT_TRUE(to.memory.read() == expected) << copy.name << ", skew " << skew;
      }
    }
  }
}

TEST(DeviceCapture, spreads_to_streams_by_events) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const CopyPlan pack = CopyPlan::compile(packed(), kDevice, strided(), kDevice);
  const CopyPlan unpack = CopyPlan::compile(strided(), kDevice, packed(), kDevice);
  Memory a(MemoryKind::Device, kBytes);
  const Memory b(MemoryKind::Device, kBytes / 2);
  const Memory c(MemoryKind::Device, kBytes);
  Stream first = Stream::make(0);
  Stream second = Stream::make(0);
  Event packed_there;
  Event unpacked_there;
  const Graph graph(first.native(), cudaStreamCaptureModeGlobal, [&] {
    pack.enqueue(first, b.data(), a.data());
    first.record(packed_there);
    second.wait(packed_there);
    unpack.enqueue(second, c.data(), b.data());
    second.record(unpacked_there);
    first.wait(unpacked_there);
  });
  EXPECT_THROW((void)packed_there.query(), Unsupported);
  EXPECT_THROW(packed_there.synchronize(), Unsupported);
  const auto given = random_bytes(kBytes, 3);
  a.write(given);
  graph.launch(first.native());
  first.synchronize();
  const auto found = c.read();
  for (std::size_t i = 0; i < found.size(); i += 16)
    ASSERT_EQ(std::memcmp(&found[i], &given[i], 8), 0) << i;
}

TEST(DeviceCapture, stays_valid_after_what_it_refuses) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const UserStream native(cudaStreamDefault);  // with which the legacy default stream synchronises
  Stream stream = Stream::adopt(native);
  Stream legacy = Stream::adopt(cudaStreamLegacy);
  const CopyPlan plan = CopyPlan::compile(packed(), kDevice, strided(), kDevice);
  const CopyPlan staged = CopyPlan::compile(packed(), {}, strided(), kDevice);
  const CopyBatch batch =
      CopyBatch::compile(std::vector<CopyBatch::Slot>{{kDevice}, {kDevice}},
                         std::vector<CopyBatch::Copy>{{packed(), 0, strided(), 1}});
  Memory from(MemoryKind::Device, kBytes);
  const Memory to(MemoryKind::Device, kBytes / 2);
  std::vector<std::byte> host(kBytes / 2);
  Event before;
  stream.record(before);
  const Graph graph(native, cudaStreamCaptureModeGlobal, [&] {
    EXPECT_THROW(staged.enqueue(stream, host.data(), from.data()), Unsupported);
    EXPECT_THROW((void)stream.query(), Unsupported);
    EXPECT_THROW(stream.synchronize(), Unsupported);
    EXPECT_THROW(stream.wait(before), Unsupported);
    EXPECT_THROW(plan.enqueue(legacy, to.data(), from.data()), Unsupported);
    EXPECT_THROW(batch.enqueue(legacy, std::vector{to.data(), from.data()}), Unsupported);
    EXPECT_THROW(legacy.synchronize(), Unsupported);
    EXPECT_THROW((void)legacy.query(), Unsupported);
    EXPECT_THROW(legacy.record(before), Unsupported);
    plan.enqueue(stream, to.data(), from.data());
  });
  EXPECT_EQ(graph.nodes(), 1U);
  from.write(std::vector<std::byte>(kBytes, std::byte{9}));
  graph.launch(native);
  stream.synchronize();
  EXPECT_TRUE(all_are(to.read(), 9));
  EXPECT_TRUE(all_are(host, 0));
}

TEST(DeviceCapture, of_the_threads_own_default_stream) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const CopyPlan plan = CopyPlan::compile(packed(), kDevice, strided(), kDevice);
  Memory from(MemoryKind::Device, kBytes);
  const Memory to(MemoryKind::Device, kBytes / 2);
  Stream stream = Stream::adopt(cudaStreamPerThread);
  const Graph graph(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal,
                    [&] { plan.enqueue(stream, to.data(), from.data()); });
  from.write(std::vector<std::byte>(kBytes, std::byte{4}));
  graph.launch(cudaStreamPerThread);
  stream.synchronize();
  EXPECT_TRUE(all_are(to.read(), 4));
}

TEST(DeviceCapture, is_not_joined_by_the_legacy_default_stream) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const CopyPlan plan = CopyPlan::compile(packed(), kDevice, strided(), kDevice);
  const Memory from(MemoryKind::Device, kBytes);
  const Memory to(MemoryKind::Device, kBytes / 2);
  Stream stream = Stream::make(0);
  Stream legacy = Stream::adopt(nullptr);
  Event event;
  const Graph graph(stream.native(), cudaStreamCaptureModeGlobal, [&] {
    plan.enqueue(stream, to.data(), from.data());
    stream.record(event);
    EXPECT_THROW(legacy.wait(event), Unsupported);
  });
  EXPECT_EQ(graph.nodes(), 1U);
  // An event can be recorded anew, outside.
  stream.record(event);
  legacy.wait(event);
  event.synchronize();
}

}  // namespace
}  // namespace strake
