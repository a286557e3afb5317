/// \file  Copies on the user's streams: their order, events, captures, and what is refused.
#include "strake/stream.hpp"

#include <cuda.h>

#include <array>
#include <chrono>
#include <thread>

#include "capture.hpp"
#include "device_test.hpp"
#include "strake/copy.hpp"

namespace strake {
namespace {

constexpr Place kDevice{MemoryKind::Device, 0};
constexpr std::int64_t kBytes = std::int64_t{1} << 20;

/// 8 of every 16 bytes.
Layout strided() {
  const Dim dims[] = {{kBytes / 16, 16}};
  return Layout::box(0, 8, dims);
}
Layout packed() { return Layout::dense(kBytes / 2); }

/// Work that takes 20 ms.
void delay(cudaStream_t stream) {
  const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  ASSERT_EQ(cudaLaunchHostFunc(stream, sleep, nullptr), cudaSuccess);
}

/// A stream of the user's.
class UserStream {
 public:
  explicit UserStream(unsigned flags = cudaStreamNonBlocking) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, flags), cudaSuccess);
  }
  ~UserStream() { (void)cudaStreamDestroy(stream_); }
  UserStream(const UserStream&) = delete;
  UserStream& operator=(const UserStream&) = delete;
  operator cudaStream_t() const { return stream_; }  // NOLINT(google-explicit-constructor)

 private:
  cudaStream_t stream_ = nullptr;
};

bool all_are(const std::vector<std::byte>& bytes, int value) {
  return bytes == std::vector<std::byte>(bytes.size(), static_cast<std::byte>(value));
}

TEST(DeviceStream, orders_copies_with_the_users_work) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const CopyPlan plan = CopyPlan::compile(packed(), kDevice, strided(), kDevice);
  const Memory from(MemoryKind::Device, kBytes);
  const Memory to(MemoryKind::Device, kBytes / 2);
  const Memory result(MemoryKind::Device, kBytes / 2);
  const UserStream own;
  const UserStream blocking(cudaStreamDefault);
  plan.run(to.data(), from.data());  // the first launch of a kernel may wait for all streams
  int value = 0;
  for (const cudaStream_t native : {cudaStream_t(own), cudaStream_t(blocking),
                                    cudaStream_t(nullptr), cudaStreamLegacy, cudaStreamPerThread}) {
    Stream stream = Stream::adopt(native);
    EXPECT_EQ(stream.device(), 0);
    EXPECT_EQ(stream.native(), native);
    for (int round = 0; round < 3; ++round) {
      ++value;
      delay(native);
      ASSERT_EQ(cudaMemsetAsync(from.data(), value, kBytes, native), cudaSuccess);
      plan.enqueue(stream, to.data(), from.data());
      ASSERT_EQ(cudaMemsetAsync(from.data(), 255, kBytes, native), cudaSuccess);
      ASSERT_EQ(cudaMemcpyAsync(result.data(), to.data(), kBytes / 2, cudaMemcpyDefault, native),
                cudaSuccess);
      EXPECT_FALSE(stream.query());
      stream.synchronize();
      EXPECT_TRUE(stream.query());
      EXPECT_TRUE(all_are(result.read(), value));
    }
  }
}

TEST(DeviceStream, pageable_memory_is_copied_before_the_call_returns) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const UserStream native;
  Stream stream = Stream::adopt(native);
  const Memory device(MemoryKind::Device, kBytes);
  std::vector<std::byte> host(kBytes / 2);
  delay(native);
  ASSERT_EQ(cudaMemsetAsync(device.data(), 5, kBytes, native), cudaSuccess);
  CopyPlan::compile(packed(), {}, strided(), kDevice).enqueue(stream, host.data(), device.data());
  EXPECT_TRUE(all_are(host, 5));
  std::fill(host.begin(), host.end(), std::byte{6});
  CopyPlan::compile(packed(), kDevice, packed(), {}).enqueue(stream, device.data(), host.data());
  std::fill(host.begin(), host.end(), std::byte{7});
  ASSERT_EQ(cudaMemcpyAsync(host.data(), device.data(), kBytes / 2, cudaMemcpyDefault, native),
            cudaSuccess);
  stream.synchronize();
  EXPECT_TRUE(all_are(host, 6));
}

TEST(DeviceStream, waits_for_events_on_the_device) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const CopyPlan plan = CopyPlan::compile(packed(), kDevice, strided(), kDevice);
  const Memory from(MemoryKind::Device, kBytes);
  const Memory to(MemoryKind::Device, kBytes / 2);
  Stream first = Stream::make(0);
  Stream second = Stream::make(0);
  Event event;
  EXPECT_THROW(second.wait(event), InvalidArgument);
  for (int value = 1; value < 4; ++value) {
    delay(first.native());
    ASSERT_EQ(cudaMemsetAsync(from.data(), value, kBytes, first.native()), cudaSuccess);
    first.record(event);
    EXPECT_FALSE(event.query());
    second.wait(event);
    plan.enqueue(second, to.data(), from.data());
    EXPECT_FALSE(second.query());
    second.synchronize();
    EXPECT_TRUE(event.query());
    event.synchronize();
    EXPECT_TRUE(all_are(to.read(), value));
  }
  // The CPU's stream waits on the host.
  delay(first.native());
  first.record(event);
  Stream cpu;
  cpu.wait(event);
  EXPECT_TRUE(event.query());
  cpu.record(event);
  second.wait(event);
  EXPECT_TRUE(event.query());
}

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

TEST(DeviceStream, waits_for_events_of_another_device) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  int devices = 0;
  ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  if (devices < 2) GTEST_SKIP() << "one device only";
  const CopyPlan plan = CopyPlan::compile(packed(), kDevice, strided(), {MemoryKind::Device, 1}, 0);
  const Memory from(MemoryKind::Device, kBytes, 1);
  const Memory to(MemoryKind::Device, kBytes / 2);
  // The default stream of a device that is not the current one.
  Stream other = Stream::adopt(nullptr, 1);
  EXPECT_EQ(other.device(), 1);
  Stream own = Stream::make(0);
  Event event;
  own.record(event);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  delay(nullptr);
  ASSERT_EQ(cudaMemsetAsync(from.data(), 3, kBytes, nullptr), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  other.record(event);
  own.wait(event);
  plan.enqueue(own, to.data(), from.data());
  own.synchronize();
  EXPECT_TRUE(all_are(to.read(), 3));
}

TEST(DeviceStream, refuses_what_is_not_its_devices) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const Memory device(MemoryKind::Device, 64);
  std::array<std::byte, 64> host{};
  Stream stream = Stream::make(0);
  Stream cpu;
  const CopyPlan on_device =
      CopyPlan::compile(Layout::dense(8), kDevice, Layout::dense(8), kDevice);
  const CopyPlan on_cpu = CopyPlan::compile(Layout::dense(8), {}, Layout::dense(8), {});
  EXPECT_THROW(on_device.enqueue(cpu, device.data(), device.data() + 8), InvalidArgument);
  EXPECT_THROW(on_cpu.enqueue(stream, host.data(), host.data() + 8), InvalidArgument);
  EXPECT_THROW((void)Stream::make(1000), InvalidArgument);
  EXPECT_THROW((void)Stream::make(-1), InvalidArgument);
  EXPECT_THROW((void)Stream::adopt(stream.native(), 1000), InvalidArgument);
  int devices = 0;
  ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  if (devices < 2) return;
  EXPECT_THROW((void)Stream::adopt(stream.native(), 1), InvalidArgument);
  Stream other = Stream::make(1);
  EXPECT_THROW(on_device.enqueue(other, device.data(), device.data() + 8), InvalidArgument);
}

TEST(DeviceStream, refuses_a_stream_of_another_context) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  // As their signatures were in CUDA 4.0, which cuda.h keeps by their second versions.
  const auto entry = [](const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &found, 4000, cudaEnableDefault, &result),
              cudaSuccess);
    return found;
  };
  const auto create =
      reinterpret_cast<CUresult (*)(CUcontext*, unsigned, CUdevice)>(entry("cuCtxCreate"));
  const auto destroy = reinterpret_cast<CUresult (*)(CUcontext)>(entry("cuCtxDestroy"));
  const auto pop = reinterpret_cast<CUresult (*)(CUcontext*)>(entry("cuCtxPopCurrent"));
  const auto make_stream =
      reinterpret_cast<CUresult (*)(CUstream*, unsigned)>(entry("cuStreamCreate"));
  CUcontext context = nullptr;
  ASSERT_EQ(create(&context, 0, 0), CUDA_SUCCESS);
  CUstream stream = nullptr;
  EXPECT_EQ(make_stream(&stream, 0), CUDA_SUCCESS);
  CUcontext popped = nullptr;
  EXPECT_EQ(pop(&popped), CUDA_SUCCESS);
  EXPECT_THROW((void)Stream::adopt(stream), InvalidArgument);
  EXPECT_EQ(destroy(context), CUDA_SUCCESS);
}

}  // namespace
}  // namespace strake
