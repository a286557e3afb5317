/// \file  Order between queues, captures in progress, and the caller's current device.
#include <cuda.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "device_test.hpp"

namespace strake {
namespace {

TEST(DeviceQueue, gives_tickets_that_are_done_in_order) {
  STRAKE_NEEDS_DEVICE();
  const auto queue = backend().make_queue(0);
  const Memory a(MemoryKind::Device, 1 << 22);
  const Memory b(MemoryKind::Device, 1 << 22);
  std::vector<Ticket> tickets;
  for (int i = 0; i < 50; ++i) tickets.push_back(queue->copy(a.data(), b.data(), 1 << 22));
  queue->wait(tickets.back());
  for (const Ticket& ticket : tickets) EXPECT_TRUE(queue->done(ticket));
  EXPECT_TRUE(queue->done(Ticket{}));
  EXPECT_TRUE(queue->done(queue->copy(a.data(), b.data(), 0)));
  EXPECT_THROW((void)queue->copy(a.data(), b.data(), -1), InvalidArgument);
}

TEST(DeviceQueue, waits_for_another_queue_on_the_device) {
  STRAKE_NEEDS_DEVICE();
  const auto first = backend().make_queue(0);
  const auto second = backend().make_queue(0);
  constexpr std::int64_t kBytes = std::int64_t{64} << 20;
  Memory a(MemoryKind::Device, kBytes);
  Memory b(MemoryKind::Device, kBytes);
  Memory c(MemoryKind::Device, kBytes);
  for (int round = 0; round < 5; ++round) {
    const auto given = random_bytes(kBytes, static_cast<std::uint64_t>(round));
    a.write(given);
    Ticket ticket;
    for (int i = 0; i < 8; ++i) ticket = first->copy(b.data(), a.data(), kBytes);
    second->wait_for(*first, ticket);
    second->wait(second->copy(c.data(), b.data(), kBytes));
    ASSERT_TRUE(c.read() == given);
  }
}

TEST(DeviceQueue, runs_after_the_legacy_default_stream) {
  STRAKE_NEEDS_DEVICE();
  constexpr std::int64_t kBytes = std::int64_t{256} << 20;
  const Memory a(MemoryKind::Device, kBytes);
  const Memory b(MemoryKind::Device, 1024);
  const auto queue = backend().make_queue(0);
  const Dim dim{128, kBytes / 128};
  const Layout layout = Layout::box(0, 8, {&dim, 1});
  const auto plan = copier().compile(Layout::dense(1024), kDevice, layout, kDevice);
  for (int round = 1; round < 10; ++round) {
    ASSERT_EQ(cudaMemsetAsync(a.data(), round, kBytes, cudaStreamLegacy), cudaSuccess);
    queue->wait(plan->enqueue(*queue, b.data(), a.data(), ByteRange::all()));
    EXPECT_TRUE(b.read() == std::vector<std::byte>(1024, static_cast<std::byte>(round)));
  }
}

TEST(DeviceQueue, works_while_a_graph_is_captured) {
  STRAKE_NEEDS_DEVICE();
  DeviceBackend& device = backend();
  DeviceCopier& copies = copier();
  const auto queue = device.make_queue(0);
  Memory a(MemoryKind::Device, 4096);
  Memory b(MemoryKind::Device, 4096);
  const auto given = random_bytes(4096, 8);
  a.write(given);
  cudaStream_t stream{};
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(a.data(), 1, 16, stream), cudaSuccess);

  const std::vector<std::int64_t> offsets{0, 100, 300};
  const Layout layout = Layout::blocks(offsets, 50);
  const auto plan = copies.compile(Layout::dense(150), kDevice, layout, kDevice);
  queue->wait(plan->enqueue(*queue, b.data(), a.data(), ByteRange::all()));
  queue->wait(queue->copy(b.data() + 2048, a.data(), 1024));
  EXPECT_EQ(classify(a.data()).kind, MemoryKind::Device);
  const auto another = device.make_queue(0);
  void* const block = device.allocate(kDevice, 1000);
  device.deallocate(kDevice, block);

  cudaGraph_t graph{};
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  std::size_t nodes = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 1U);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  const auto result = b.read();
  EXPECT_EQ(std::memcmp(result.data() + 50, given.data() + 100, 50), 0);
  EXPECT_EQ(std::memcmp(result.data() + 2048, given.data(), 1024), 0);
}

TEST(DeviceQueue, leaves_a_thread_without_a_context_without_one) {
  STRAKE_NEEDS_DEVICE();
  DeviceBackend& device = backend();
  const Memory a(MemoryKind::Device, 4096);
  const Memory b(MemoryKind::Device, 4096);
  using CurrentContext = CUresult (*)(CUcontext*);
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
  ASSERT_EQ(
      cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &entry, 12000, cudaEnableDefault, &found),
      cudaSuccess);
  const auto current_context = reinterpret_cast<CurrentContext>(entry);
  std::thread([&] {
    CUcontext context = nullptr;
    ASSERT_EQ(current_context(&context), CUDA_SUCCESS);
    ASSERT_EQ(context, nullptr);
    const auto queue = device.make_queue(0);
    queue->wait(queue->copy(a.data(), b.data(), 4096));
    EXPECT_EQ(classify(a.data()).kind, MemoryKind::Device);
    ASSERT_EQ(current_context(&context), CUDA_SUCCESS);
    EXPECT_EQ(context, nullptr);
  }).join();
}

TEST(DeviceQueue, keeps_the_current_device_of_its_caller) {
  STRAKE_NEEDS_DEVICE();
  int devices = 0;
  ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  if (devices < 2) GTEST_SKIP() << "one device only";
  const Memory a(MemoryKind::Device, 4096);
  const Memory b(MemoryKind::Device, 4096);
  const auto queue = backend().make_queue(0);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  queue->wait(queue->copy(a.data(), b.data(), 4096));
  const auto plan = copier().compile(Layout::dense(64), kDevice, Layout::dense(64, 8), kDevice);
  queue->wait(plan->enqueue(*queue, a.data(), b.data(), ByteRange::all()));
  int current = -1;
  EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 1);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

TEST(DeviceMarker, tells_when_what_the_default_stream_held_is_done) {
  STRAKE_NEEDS_DEVICE();
  const auto marker = backend().make_marker(0);
  const std::uint64_t idle = marker->mark();
  while (!marker->reached(idle)) std::this_thread::yield();
  std::atomic<bool> held = true;
  const auto wait = [](void* flag) {
    while (*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
  };
  // Many that nobody asks for; the first of them stays what it is.
  const std::uint64_t before = marker->mark();
  ASSERT_EQ(cudaLaunchHostFunc(nullptr, wait, &held), cudaSuccess);
  const std::uint64_t behind = marker->mark();
  for (int i = 0; i < 200; ++i) (void)marker->mark();
  while (!marker->reached(before)) std::this_thread::yield();
  EXPECT_FALSE(marker->reached(behind));
  std::uint64_t last = behind;
  for (int i = 0; i < 200; ++i) last = marker->mark();
  EXPECT_FALSE(marker->reached(behind + 1));
  held = false;
  while (!marker->reached(last)) std::this_thread::yield();
  EXPECT_TRUE(marker->reached(behind));
}

}  // namespace
}  // namespace strake
