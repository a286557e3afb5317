/// \file  Memory that other processes map, and blocks of it.
#include "memory/sharing/shared_memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "memory/sharing/buddies.hpp"
#include "strake/error.hpp"

namespace strake::sharing {
namespace {

TEST(Sharing, memory_is_shared_sealed_and_of_the_announced_size) {
  SharedMemory made = SharedMemory::make(3 << 20);
  EXPECT_TRUE(made.populate(5000, 9000));
  EXPECT_TRUE(made.populate(1 << 20, 3 << 20));
  EXPECT_TRUE(made.populate(0, 0));
  EXPECT_EQ(ftruncate(made.descriptor(), 4096), -1);
  EXPECT_THROW((void)SharedMemory::map(made.descriptor(), 4096), InvalidArgument);
  const SharedMemory mapped = SharedMemory::map(made.descriptor(), 3 << 20);
  made.data()[100] = std::byte{42};
  EXPECT_EQ(mapped.data()[100], std::byte{42});
  EXPECT_THROW((void)SharedMemory::make(std::int64_t{1} << 62), OutOfMemory);
}

/// A number of the system's pool of pages of 2 MiB; 0: there is no such pool.
std::int64_t pool(const std::string& name) {
  std::ifstream text("/sys/kernel/mm/hugepages/hugepages-2048kB/" + name);
  std::int64_t number = 0;
  return text >> number ? number : 0;
}

TEST(Sharing, memory_in_huge_pages_comes_from_the_pool_where_it_has_enough) {
  constexpr std::int64_t kPage = 2 << 20;
  constexpr std::int64_t kOfOtherTests = 500;
  const std::int64_t pages = pool("nr_hugepages") + pool("nr_overcommit_hugepages");
  SharedMemory made = SharedMemory::make_in_pages(5 << 20, kPage);
  EXPECT_EQ(made.bytes(), 3 * kPage);
  if (pages == 0) {
    EXPECT_EQ(made.pool_page(), 0);
  }
  if (pool("free_hugepages") - pool("resv_hugepages") > kOfOtherTests) {
    EXPECT_EQ(made.pool_page(), kPage);
  }
  const SharedMemory mapped = SharedMemory::map(made.descriptor(), made.bytes());
  made.data()[made.bytes() - 1] = std::byte{42};
  EXPECT_EQ(mapped.data()[made.bytes() - 1], std::byte{42});
  SharedMemory moved = std::move(made);
  EXPECT_TRUE(moved.populate(0, moved.bytes()));
  moved.discard();
  EXPECT_EQ(mapped.data()[moved.bytes() - 1], std::byte{0});
  // More than the pool has.
  const SharedMemory large = SharedMemory::make_in_pages((pages + 1) * kPage, kPage);
  EXPECT_EQ(large.pool_page(), 0);
  EXPECT_EQ(SharedMemory::make_in_pages(5000, 4096).bytes(), 8192);
  EXPECT_THROW((void)SharedMemory::make_in_pages(std::int64_t{1} << 62, kPage), OutOfMemory);
}

TEST(Sharing, blocks_lie_apart_and_are_joined_again) {
  constexpr std::int64_t kUnit = 4096;
  constexpr std::int64_t kBytes = 37 * kUnit;
  std::vector<Buddies::Unit> units(37);
  Buddies blocks(units, kUnit);
  std::mt19937 random(9);
  struct Block {
    std::int64_t at, bytes;
  };
  std::vector<Block> taken;
  for (int round = 0; round < 20'000; ++round) {
    if (random() % 2 == 0) {
      const auto bytes = static_cast<std::int64_t>(1 + random() % 40'000);
      const auto at = blocks.take(bytes);
      if (!at) continue;
      ASSERT_GE(*at, 0);
      ASSERT_LE(*at + bytes, kBytes);
      for (const Block& other : taken)
        ASSERT_TRUE(*at + bytes <= other.at || other.at + other.bytes <= *at);
      taken.push_back({*at, bytes});
    } else if (!taken.empty()) {
      const std::size_t at = random() % taken.size();
      blocks.give_back(taken[at].at, taken[at].bytes);
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  for (const Block& block : taken) blocks.give_back(block.at, block.bytes);
  EXPECT_EQ(blocks.take(32 * kUnit), 0);  // as large as there is one
  EXPECT_EQ(blocks.take(32 * kUnit), std::nullopt);
  EXPECT_TRUE(blocks.take(5 * kUnit - 4096));
  EXPECT_TRUE(blocks.take(1));
  EXPECT_FALSE(blocks.take(1));
}

}  // namespace
}  // namespace strake::sharing
