/// \file  Classification of real pointers, and pools on a real device.
#include <sys/mman.h>

#include "device_test.hpp"
#include "memory/pool.hpp"

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
  EXPECT_EQ(classify(memory).kind, MemoryKind::Host);
  ASSERT_EQ(cudaHostRegister(memory, kBytes, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(classify(memory).kind, MemoryKind::Pinned);
  ASSERT_EQ(cudaHostUnregister(memory), cudaSuccess);
  EXPECT_EQ(classify(memory).kind, MemoryKind::Host);
  munmap(memory, kBytes);
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
