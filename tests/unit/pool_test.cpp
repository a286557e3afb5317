#include "memory/pool.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "memory/host_blocks.hpp"
#include "memory/size_class.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

constexpr Place kHost{};
constexpr Place kDevice{MemoryKind::Device, 0};
constexpr Place kPinned{MemoryKind::Pinned, 0};

/// A device back end whose memory is the host's, of which there is a fixed amount.
class PretendedDevice final : public DeviceBackend {
 public:
  explicit PretendedDevice(std::int64_t bytes) : free_bytes_(bytes) {}
  [[nodiscard]] const char* name() const noexcept override { return "pretended"; }
  [[nodiscard]] int device_count() const noexcept override { return 1; }
  [[nodiscard]] bool usable(int) const noexcept override { return true; }
  void require_intact(int) const override {}
  bool query(const void*, AllocationInfo&) const noexcept override { return false; }
  bool knows(const void*, std::uint64_t&) const noexcept override { return false; }
  [[nodiscard]] const DriverMaps* maps() const noexcept override { return nullptr; }
  std::unique_ptr<Queue> make_queue(int, QueueOrder) override { throw Unsupported("pretended"); }
  std::unique_ptr<Marker> make_marker(int) override { throw Unsupported("pretended"); }
  std::unique_ptr<DeviceStream> make_stream(int, StreamOf) override {
    throw Unsupported("pretended");
  }
  std::unique_ptr<DeviceStream> adopt_stream(void*, int) override {
    throw Unsupported("pretended");
  }
  std::unique_ptr<DeviceEvent> make_event(int) override { throw Unsupported("pretended"); }
  void* allocate(Place, std::int64_t bytes) override {
    if (bytes > free_bytes_) throw OutOfMemory("pretended");
    ++calls;
    free_bytes_ -= bytes;
    void* memory = std::malloc(static_cast<std::size_t>(bytes));
    sizes_.emplace(memory, bytes);
    return memory;
  }
  void deallocate(Place, void* address) noexcept override {
    ++calls;
    free_bytes_ += sizes_.at(address);
    sizes_.erase(address);
    std::free(address);
  }

  std::uint64_t identity(int) const noexcept override { return 0; }
  bool reach_peer(int, int) override { return false; }
  std::byte* map_host(int, std::byte*, std::int64_t) override { throw Unsupported("pretended"); }
  void unmap_host(int, std::byte*) noexcept override {}
  bool export_memory(Place, const MemoryPiece&, ExportedMemory&) const noexcept override {
    return false;
  }
  std::vector<MemoryPiece> pieces_around(const void*, std::size_t) const override { return {}; }
  int export_piece(const MemoryPiece&) const noexcept override { return -1; }
  std::byte* import_memory(const ExportedMemory&, std::span<const int>, Place&) override {
    throw Unsupported("pretended");
  }
  void release_import(Place, std::byte*, const ExportedMemory&) noexcept override {}

  int calls = 0;

 private:
  std::int64_t free_bytes_;
  std::unordered_map<void*, std::int64_t> sizes_;
};

TEST(SizeClass, is_the_smallest_that_holds_the_bytes) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  EXPECT_EQ(size_class_of(0), kSmallestClass);
  EXPECT_EQ(size_class_of(256), 8);
  EXPECT_EQ(size_class_of(257), 9);
  EXPECT_EQ(class_bytes(size_class_of(3 * kMiB)), 4 * kMiB);
  EXPECT_EQ(class_bytes(size_class_of(4 * kMiB + 1)), 5 * kMiB);
  EXPECT_EQ(class_bytes(size_class_of(1024 * kMiB + 128)), 1280 * kMiB);
  EXPECT_EQ(size_class_of(std::int64_t{1} << kLargestLog2), kSizeClasses - 1);
  for (int c = kSmallestClass; c < kSizeClasses; ++c) {
    EXPECT_EQ(size_class_of(class_bytes(c)), c);
    if (c + 1 < kSizeClasses) {
      EXPECT_EQ(size_class_of(class_bytes(c) + 1), c + 1);
    }
  }
  EXPECT_THROW((void)size_class_of(-1), InvalidArgument);
  EXPECT_THROW((void)size_class_of(INT64_MAX), InvalidArgument);
}

TEST(HostBlocks, are_aligned_writable_and_reused) {
  void* const first = acquire_host_block(1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
  std::memset(first, 1, 1000);
  release_host_block(first);
  const std::int64_t held = host_block_bytes();
  void* const second = acquire_host_block(1024);
  EXPECT_EQ(second, first);
  EXPECT_EQ(host_block_bytes(), held);
  release_host_block(second);
  release_host_block(nullptr);
}

TEST(HostBlocks, of_many_threads_never_overlap) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      for (int round = 0; round < 300; ++round) {
        std::vector<unsigned char*> blocks;
        for (int i = 0; i < 8; ++i) {
          blocks.push_back(static_cast<unsigned char*>(acquire_host_block(500)));
          std::memset(blocks.back(), t * 10 + i, 500);
        }
        for (int i = 0; i < 8; ++i) {
          for (int b = 0; b < 500; ++b)
            wrong += blocks[static_cast<std::size_t>(i)][b] != t * 10 + i;
          release_host_block(blocks[static_cast<std::size_t>(i)]);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(HostBlocks, released_by_another_thread_or_after_its_end_are_reused) {
  void* block = nullptr;
  std::thread([&] { block = acquire_host_block(std::int64_t{1} << 23); }).join();
  release_host_block(block);
  const std::int64_t held = host_block_bytes();
  void* const again = acquire_host_block(std::int64_t{1} << 23);
  EXPECT_EQ(again, block);
  EXPECT_EQ(host_block_bytes(), held);
  release_host_block(again);
}

TEST(HostBlocks, that_wait_are_given_back_when_asked) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 25;  // more than a thread keeps
  void* const in_use = acquire_host_block(kBytes);
  release_host_block(acquire_host_block(kBytes));
  const std::int64_t held = host_block_bytes();
  free_waiting_host_blocks();
  EXPECT_LE(host_block_bytes(), held - kBytes);
  EXPECT_GE(host_block_bytes(), kBytes);
  std::memset(in_use, 1, kBytes);
  release_host_block(in_use);
}

TEST(Pool, calls_no_runtime_once_a_size_was_used) {
  PretendedDevice device(1 << 20);
  Pool pool(&device);
  for (const Place place : {kDevice, kPinned}) {
    void* const a = pool.acquire(place, 5000);
    void* const b = pool.acquire(place, 5000);
    EXPECT_NE(a, b);
    pool.release(place, a);
    pool.release(place, b);
    const int calls = device.calls;
    for (int i = 0; i < 100; ++i) {
      void* const block = pool.acquire(place, 4097 + i);
      EXPECT_TRUE(block == a || block == b);
      pool.release(place, block);
    }
    EXPECT_EQ(device.calls, calls);
    EXPECT_EQ(pool.stats(place).allocations, 2U);
    EXPECT_EQ(pool.stats(place).bytes_held, 2 * 8192);
    EXPECT_EQ(pool.stats(place).bytes_in_use, 0);
  }
}

TEST(Pool, gives_waiting_blocks_back_before_it_reports_out_of_memory) {
  PretendedDevice device(8192);
  Pool pool(&device);
  void* const small = pool.acquire(kDevice, 4096);
  pool.release(kDevice, small);
  // 8192 fit only once the waiting 4096 are gone.
  void* const large = pool.acquire(kDevice, 8192);
  EXPECT_EQ(pool.stats(kDevice).bytes_held, 8192);
  EXPECT_THROW((void)pool.acquire(kDevice, 256), OutOfMemory);
  pool.release(kDevice, large);
  pool.trim();
  EXPECT_EQ(pool.stats(kDevice).bytes_held, 0);
}

TEST(Pool, refuses_managed_memory_and_ignores_foreign_blocks) {
  PretendedDevice device(8192);
  Pool pool(&device);
  EXPECT_THROW((void)pool.acquire({MemoryKind::Managed, 0}, 1), Unsupported);
  int foreign = 0;
  pool.release(kDevice, &foreign);
  pool.release(kDevice, nullptr);
  EXPECT_EQ(pool.stats(kDevice).bytes_held, 0);
}

TEST(Pool, serves_host_memory_without_a_device) {
  const PoolBlock block(kHost, 12345);
  ASSERT_NE(block.data(), nullptr);
  std::memset(block.data(), 0, 12345);
}

}  // namespace
}  // namespace strake
