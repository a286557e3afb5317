/// \file  Classification of real pointers, and pools on a real device.
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "device_test.hpp"
#include "memory/pool.hpp"
#include "strake/copy.hpp"

namespace strake {
namespace {

TEST(DeviceMemory, classifies_each_kind) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  for (const MemoryKind kind :
       {MemoryKind::Host, MemoryKind::Pinned, MemoryKind::Managed, MemoryKind::Device}) {
    const Memory memory(kind, 100'000);
    for (int round = 0; round < 3; ++round) {
      const Place place = classify(memory.data() + 30'000 * round);
      EXPECT_EQ(place.kind, kind);
      EXPECT_EQ(place.device, kind == MemoryKind::Host ? -1 : 0);
    }
  }
  EXPECT_EQ(classify(nullptr).kind, MemoryKind::Host);
}

TEST(DeviceMemory, classifies_what_the_allocator_of_a_stream_gives) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  void* memory = nullptr;
  ASSERT_EQ(cudaMallocAsync(&memory, 5000, cudaStreamLegacy), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
  EXPECT_EQ(classify(memory), (Place{MemoryKind::Device, 0}));
  ASSERT_EQ(cudaFreeAsync(memory, cudaStreamLegacy), cudaSuccess);
}

TEST(DeviceMemory, forgets_memory_that_was_freed) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  for (int round = 0; round < 5; ++round) {
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, kBytes), cudaSuccess);
    EXPECT_EQ(classify(memory).kind, MemoryKind::Device);
    ASSERT_EQ(cudaFree(memory), cudaSuccess);
    EXPECT_EQ(classify(memory).kind, MemoryKind::Host);
    ASSERT_EQ(cudaMallocManaged(&memory, kBytes), cudaSuccess);
    EXPECT_EQ(classify(memory).kind, MemoryKind::Managed);
    ASSERT_EQ(cudaFree(memory), cudaSuccess);
  }
}

TEST(DeviceMemory, follows_registration_of_host_memory) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  // The page is known as the host's after these calls.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(classify(memory).kind, MemoryKind::Host);
  ASSERT_EQ(cudaHostRegister(memory, kBytes, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(classify(memory).kind, MemoryKind::Pinned);
  ASSERT_EQ(cudaHostUnregister(memory), cudaSuccess);
  EXPECT_EQ(classify(memory).kind, MemoryKind::Host);
  munmap(memory, kBytes);
}

TEST(DeviceMemory, a_range_that_is_registered_in_part_is_plain_host_memory) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  auto* const memory = static_cast<std::byte*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  std::byte* const half = memory + kBytes / 2;
  ASSERT_EQ(cudaHostRegister(memory, kBytes / 2, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(classify(memory, half - 1).kind, MemoryKind::Pinned);
  EXPECT_EQ(classify(memory, half).kind, MemoryKind::Host);
  ASSERT_EQ(cudaHostRegister(half, kBytes / 2, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(classify(memory, half).kind, MemoryKind::Host);
  EXPECT_EQ(classify(half, memory + kBytes - 1).kind, MemoryKind::Pinned);
  ASSERT_EQ(cudaHostUnregister(half), cudaSuccess);
  // A device then does not reach behind it.
  const Memory device(MemoryKind::Device, kBytes);
  const std::vector<std::int64_t> offsets = {0, kBytes - 64};
  const std::vector<std::int64_t> lengths = {64, 64};
  const Layout rows = Layout::blocks(offsets, lengths);
  CopyPlan::compile(Layout::dense(128), device.place(), rows, classify(memory, memory + kBytes - 1))
      .run(device.data(), memory);
  ASSERT_EQ(cudaHostUnregister(memory), cudaSuccess);
  munmap(memory, kBytes);
}

TEST(DeviceMemory, tables_are_freed_without_waiting_for_the_applications_work) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const Memory a(MemoryKind::Device, 100'000);
  const Memory b(MemoryKind::Device, 100'000);
  const std::vector<std::int64_t> offsets = {0, 1000, 5000};
  const std::vector<std::int64_t> lengths = {40, 8, 24};
  const Layout list = Layout::blocks(offsets, lengths);
  const Layout dense = Layout::dense(list.size_bytes());
  const auto move = [&] {
    CopyPlan::compile(dense, b.place(), list, a.place()).run(b.data(), a.data());
  };
  move();
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  std::atomic<bool> over{false};
  const auto wait = [](void* flag) {
    const auto begin = std::chrono::steady_clock::now();
    while (!*static_cast<std::atomic<bool>*>(flag) &&
           std::chrono::steady_clock::now() - begin < std::chrono::seconds(5)) {
    }
  };
  ASSERT_EQ(cudaLaunchHostFunc(stream, wait, &over), cudaSuccess);
  const auto begin = std::chrono::steady_clock::now();
  move();
  std::thread(move).join();  // its queue goes with it
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
  over = true;
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(DeviceMemory, names_allocations_by_ids_that_are_never_used_twice) {
  STRAKE_NEEDS_DEVICE();
  DeviceBackend& device = backend();
  std::uint64_t last = 0;
  for (int round = 0; round < 4; ++round) {
    const Memory memory(MemoryKind::Device, 4 << 20);
    AllocationInfo info;
    ASSERT_TRUE(device.query(memory.data() + 999, info));
    EXPECT_EQ(info.base, reinterpret_cast<std::uint64_t>(memory.data()));
    EXPECT_GE(info.size_bytes, std::uint64_t{4} << 20);
    std::uint64_t id = 0;
    EXPECT_TRUE(device.knows(memory.data(), id));
    EXPECT_EQ(info.buffer_id, id);
    EXPECT_NE(info.buffer_id, last);
    last = info.buffer_id;
  }
}

TEST(DeviceMemory, pools_hand_out_memory_of_their_place) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  for (const MemoryKind kind : {MemoryKind::Pinned, MemoryKind::Device}) {
    const PoolBlock block(place_of(kind), 70'000);
    EXPECT_EQ(classify(block.data()), place_of(kind));
  }
  // More than any device has.
  EXPECT_THROW((void)Pool::instance().acquire(place_of(MemoryKind::Device), std::int64_t{1} << 50),
               OutOfMemory);
}

}  // namespace
}  // namespace strake
