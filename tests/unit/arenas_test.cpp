/// \file  Allocations that other processes can map.
#include "memory/sharing/arenas.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "memory/sharing/shared_memory.hpp"

namespace strake::sharing {
namespace {

TEST(Arenas, allocations_are_found_by_their_bytes) {
  Arenas& arenas = Arenas::get();
  EXPECT_EQ(arenas.allocate(Arenas::kShortest - 1), nullptr);
  EXPECT_EQ(arenas.allocate(std::int64_t{1} << 62), nullptr);
  EXPECT_FALSE(arenas.release(nullptr));
  int mine = 0;
  EXPECT_FALSE(arenas.release(&mine));
  constexpr std::int64_t kBytes = 200'000;
  auto* const one = static_cast<std::byte*>(arenas.allocate(kBytes));
  ASSERT_NE(one, nullptr);
  const std::byte* const end = one + kBytes;
  EXPECT_TRUE(arenas.find(one, end));
  EXPECT_TRUE(arenas.find(one + 5, end - 5));
  EXPECT_FALSE(arenas.find(one - 1, end));
  EXPECT_FALSE(arenas.find(one, end + 1));
  std::vector<void*> more;
  while (void* const address = arenas.allocate(Arenas::kShortest)) more.push_back(address);
  EXPECT_EQ(more.size(), static_cast<std::size_t>(Arenas::kMost) - 1);
  for (void* const address : more) EXPECT_TRUE(arenas.release(address));
  EXPECT_FALSE(arenas.release(more[0]));
  EXPECT_TRUE(arenas.release(one));
}

TEST(Arenas, what_is_freed_is_no_longer_kept_by_who_has_mapped_it) {
  auto* const address = static_cast<std::byte*>(Arenas::get().allocate(1 << 20));
  ASSERT_NE(address, nullptr);
  std::memset(address, 7, 1 << 20);
  const Arenas::Region region = *Arenas::get().find(address, address + 1);
  const auto mapped =
      SharedMemory::map(region.descriptor, region.bytes, SharedMemory::Access::Read);
  EXPECT_EQ(mapped.data()[5000], std::byte{7});
  EXPECT_TRUE(Arenas::get().release(address));
  EXPECT_EQ(mapped.data()[5000], std::byte{0});
}

TEST(Arenas, what_the_kernel_refuses_others_is_refused_here) {
  const std::int64_t all = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  const std::int64_t bytes = 16 * all;
  void* const alone = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (alone != MAP_FAILED) munmap(alone, static_cast<std::size_t>(bytes));
  void* const address = Arenas::get().allocate(bytes);
  EXPECT_EQ(address == nullptr, alone == MAP_FAILED);
  if (address != nullptr) Arenas::get().release(address);
}

TEST(Arenas, what_is_covered_by_another_mapping_is_not_found) {
  constexpr std::int64_t kBytes = 1 << 20;
  for (const std::int64_t part : {kBytes, kBytes / 2}) {
    auto* const address = static_cast<std::byte*>(Arenas::get().allocate(kBytes));
    ASSERT_NE(address, nullptr);
    std::memset(address, 7, kBytes);
    EXPECT_TRUE(Arenas::get().find(address, address + kBytes));
    ASSERT_EQ(mmap(address, static_cast<std::size_t>(part), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              address);
    std::memset(address, 8, kBytes);
    EXPECT_FALSE(Arenas::get().find(address, address + kBytes));
    EXPECT_FALSE(Arenas::get().find(address + kBytes - 100, address + kBytes));  // noticed before
    EXPECT_TRUE(Arenas::get().release(address));
  }
  // A new one is found.
  auto* const address = static_cast<std::byte*>(Arenas::get().allocate(kBytes));
  EXPECT_TRUE(Arenas::get().find(address, address + kBytes));
  EXPECT_TRUE(Arenas::get().release(address));
}

}  // namespace
}  // namespace strake::sharing
