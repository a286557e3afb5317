#include "strake/memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <thread>
#include <vector>

#include "device/backend.hpp"
#include "memory/place_cache.hpp"

namespace strake {
namespace {

TEST(Classify, knows_all_memory_as_host_without_a_device_runtime) {
  ASSERT_EQ(device_backend(), nullptr);
  const int on_stack = 0;
  static const int in_image = 0;
  const std::vector<int> on_heap(3);
  for (const void* address :
       {static_cast<const void*>(&on_stack), static_cast<const void*>(&in_image),
        static_cast<const void*>(on_heap.data()), static_cast<const void*>(nullptr)}) {
    EXPECT_EQ(classify(address), Place{});
  }
}

TEST(Classify, names_each_kind) {
  EXPECT_STREQ(name_of(MemoryKind::Host), "host");
  EXPECT_STREQ(name_of(MemoryKind::Pinned), "pinned");
  EXPECT_STREQ(name_of(MemoryKind::Managed), "managed");
  EXPECT_STREQ(name_of(MemoryKind::Device), "device");
}

TEST(PlaceCache, tells_buffers_apart_by_id) {
  PlaceCache cache;
  EXPECT_FALSE(cache.find(7));
  cache.insert(7, {MemoryKind::Device, 3});
  EXPECT_EQ(cache.find(7), (Place{MemoryKind::Device, 3}));
  EXPECT_FALSE(cache.find(8));
  cache.insert(8, {MemoryKind::Pinned, -1});
  EXPECT_EQ(cache.find(8), (Place{MemoryKind::Pinned, -1}));
  EXPECT_EQ(cache.find(7), (Place{MemoryKind::Device, 3}));
}

TEST(PlaceCache, keeps_nothing_that_does_not_fit_an_entry) {
  PlaceCache cache;
  cache.insert(0, {MemoryKind::Device, 0});
  EXPECT_FALSE(cache.find(0));
  const std::uint64_t huge = std::uint64_t{1} << 60;
  cache.insert(huge, {MemoryKind::Device, 0});
  EXPECT_FALSE(cache.find(huge));
  cache.insert(5, {MemoryKind::Device, 5000});
  EXPECT_FALSE(cache.find(5));
}

TEST(PlaceCache, never_mixes_entries_of_concurrent_writers) {
  PlaceCache cache;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20000; ++i) {
        // Ids of one slot: each has a device of its own.
        const std::uint64_t id = 1 + 1024 * static_cast<std::uint64_t>((i + t) % 5);
        const std::int32_t device = static_cast<std::int32_t>(id / 1024);
        cache.insert(id, {MemoryKind::Device, device});
        const auto found = cache.find(id);
        wrong += found && found->device != device;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace strake
