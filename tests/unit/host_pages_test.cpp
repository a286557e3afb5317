#include "memory/host_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <thread>
#include <vector>

#include "maps_memory.hpp"

namespace strake {
namespace {

void* own_page(int protection) {
  return mmap(nullptr, kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

TEST(HostPages, know_a_page_that_was_asked_about_twice) {
  HostPages pages;
  void* const page = own_page(PROT_READ | PROT_WRITE);
  EXPECT_FALSE(pages.holds(page, 7));
  pages.note_unknown(page, 7);
  EXPECT_FALSE(pages.holds(page, 7));
  errno = 0;
  pages.note_unknown(page, 7);
  EXPECT_EQ(errno, 0);
  EXPECT_TRUE(pages.holds(page, 7));
  pages.note_unknown(page, 7);
  EXPECT_TRUE(pages.holds(page, 7));
  EXPECT_TRUE(pages.holds(static_cast<char*>(page) + kPage - 1, 7));
  EXPECT_FALSE(pages.holds(static_cast<char*>(page) + kPage, 7));
  EXPECT_FALSE(pages.holds(static_cast<char*>(page) - 1, 7));
  EXPECT_FALSE(pages.holds(page, 8));
  munmap(page, kPage);
}

TEST(HostPages, never_know_a_page_that_the_host_cant_read) {
  HostPages pages;
  void* const page = own_page(PROT_NONE);
  for (int i = 0; i < 5; ++i) pages.note_unknown(page, 7);
  EXPECT_FALSE(pages.holds(page, 7));
  ASSERT_EQ(mprotect(page, kPage, PROT_READ), 0);
  pages.note_unknown(page, 7);
  EXPECT_TRUE(pages.holds(page, 7));
  munmap(page, kPage);
  HostPages others;
  for (int i = 0; i < 5; ++i) others.note_unknown(page, 7);
  EXPECT_FALSE(others.holds(page, 7));
  for (int i = 0; i < 5; ++i) pages.note_unknown(nullptr, 7);
  EXPECT_FALSE(pages.holds(nullptr, 7));
}

TEST(HostPages, know_nothing_without_a_generation_or_of_addresses_that_do_not_fit) {
  HostPages pages;
  const int here = 0;
  const auto* const far = reinterpret_cast<const void*>(std::uintptr_t{1} << 48);
  for (const std::uint64_t generation : {std::uint64_t{0}, std::uint64_t{1} << 39}) {
    pages.enter(&here, generation);
    EXPECT_FALSE(pages.holds(&here, generation));
  }
  pages.enter(far, 7);
  EXPECT_FALSE(pages.holds(far, 7));
  pages.enter(&here, (std::uint64_t{1} << 39) - 1);
  EXPECT_TRUE(pages.holds(&here, (std::uint64_t{1} << 39) - 1));
}

TEST(HostPages, tell_pages_of_one_slot_apart) {
  const auto address = [](std::uintptr_t page) { return reinterpret_cast<void*>(page << 12); };
  // The slot is the exclusive or of a page's three parts of 12 bits.
  const std::uintptr_t with_one_slot[] = {0x000'001'002, 0x001'000'002, 0x001'001'003, 0x003};
  HostPages pages;
  for (const std::uintptr_t entered : with_one_slot) {
    pages.enter(address(entered), 7);
    for (const std::uintptr_t page : with_one_slot)
      EXPECT_EQ(pages.holds(address(page), 7), page == entered) << std::hex << page << entered;
  }
}

TEST(HostPages, are_forgotten_when_the_driver_maps) {
  const Mapper driver(kReadOnly);
  ASSERT_TRUE(driver.is_watched());
  HostPages pages;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  std::atomic<int> known{0};
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        void* const page = own_page(PROT_READ | PROT_WRITE);
        // The other thread's driver maps at any time.
        for (int i = 0; i < 100 && !pages.holds(page, driver.generation()); ++i)
          pages.note_unknown(page, driver.generation());
        known += pages.holds(page, driver.generation());
        wrong += driver.map(page, PROT_NONE) != page;
        wrong += pages.holds(page, driver.generation());
        for (int i = 0; i < 3; ++i) pages.note_unknown(page, driver.generation());
        wrong += pages.holds(page, driver.generation());
        munmap(page, kPage);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(known, 1000);
}

}  // namespace
}  // namespace strake
