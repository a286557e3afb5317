#include "device/driver_maps.hpp"

#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>

#include "maps_memory.hpp"

namespace strake {
namespace {

class DriverMapsOf : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { ASSERT_TRUE(mapper_.is_watched()); }
  Mapper mapper_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Objects, DriverMapsOf, testing::Values(kLazy, kReadOnly),
                         [](const auto& made) { return made.index == 0 ? "Lazy" : "ReadOnly"; });

TEST_P(DriverMapsOf, counts_each_call_that_maps) {
  const auto counts = [&](auto&& call) {
    const std::uint64_t before = mapper_.generation();
    call();
    return mapper_.generation() == before + 1;
  };
  void* memory = nullptr;
  EXPECT_TRUE(counts([&] { memory = mapper_.map(nullptr, PROT_READ); }));
  ASSERT_NE(memory, MAP_FAILED);
  const auto remap = mapper_.find<void*(void*, std::size_t, std::size_t)>("map_anew");
  EXPECT_TRUE(counts([&] { memory = remap(memory, kPage, 5 * kPage); }));
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_EQ(munmap(memory, 5 * kPage), 0);
  const auto by_pointer = mapper_.find<void*(std::size_t)>("map_by_pointer");
  EXPECT_TRUE(counts([&] { memory = by_pointer(kPage); }));
  ASSERT_NE(memory, MAP_FAILED);
  const auto unmap = mapper_.find<int(void*, std::size_t)>("unmap");
  EXPECT_FALSE(counts([&] { EXPECT_EQ(unmap(memory, kPage), 0); }));
}

TEST_P(DriverMapsOf, hands_on_arguments_and_results) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "abc", 3), 3);
  const auto control = mapper_.find<int(int, unsigned long, void*)>("control");
  int waiting = 0;
  const std::uint64_t before = mapper_.generation();
  EXPECT_EQ(control(ends[0], FIONREAD, &waiting), 0);
  EXPECT_EQ(waiting, 3);
  EXPECT_EQ(mapper_.generation(), before + 1);
  close(ends[0]);
  close(ends[1]);
  errno = 0;
  EXPECT_EQ(control(-1, FIONREAD, &waiting), -1);
  EXPECT_EQ(errno, EBADF);
  errno = 0;
  EXPECT_EQ(mapper_.map(reinterpret_cast<void*>(kPage + 1), PROT_READ), MAP_FAILED);
  EXPECT_EQ(errno, EINVAL);
}

TEST_P(DriverMapsOf, says_so_when_a_slot_was_changed_by_others) {
  auto* const pointer = static_cast<void**>(mapper_.find<void>("g_pointer"));
  void* const ours = *pointer;
  *pointer = reinterpret_cast<void*>(&mmap);
  EXPECT_EQ(mapper_.generation(), 0U);
  *pointer = ours;
  EXPECT_NE(mapper_.generation(), 0U);
}

TEST_P(DriverMapsOf, leaves_pages_as_writable_as_they_were) {
  const auto pointer = reinterpret_cast<std::uintptr_t>(mapper_.find<void>("kPointer"));
  std::ifstream maps("/proc/self/maps");
  std::string rights;
  for (std::string line; std::getline(maps, line);) {
    std::size_t dash = 0;
    const auto begin = std::stoull(line, &dash, 16);
    const auto end = std::stoull(line.substr(dash + 1), nullptr, 16);
    if (pointer >= begin && pointer < end) rights = line.substr(line.find(' ') + 1, 4);
  }
  EXPECT_EQ(rights, "r--p");
}

TEST_P(DriverMapsOf, counts_on_when_watched_twice) {
  const auto again = watch_driver_maps(mapper_.path().c_str());
  ASSERT_TRUE(again);
  const std::uint64_t before = again->generation();
  EXPECT_EQ(mapper_.generation(), before);
  EXPECT_EQ(munmap(mapper_.map(nullptr, PROT_READ), kPage), 0);
  EXPECT_EQ(again->generation(), before + 1);
  EXPECT_EQ(mapper_.generation(), before + 1);
}

TEST(DriverMaps, needs_a_loaded_object_that_maps) {
  EXPECT_FALSE(watch_driver_maps("libstrake-no-such-object.so"));
  ASSERT_NE(dlopen("libm.so.6", RTLD_LAZY), nullptr);
  EXPECT_FALSE(watch_driver_maps("libm.so.6"));
}

}  // namespace
}  // namespace strake
