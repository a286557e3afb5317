#include "state/process_state.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace strake {
namespace {

/// The place of T's entry in the list, the part that was made last first; -1: there is none.
template <typename T>
int place_of() {
  int place = 0;
  for (const auto* part = ProcessState::newest(); part != nullptr; part = part->older, ++place)
    if (*part->type == typeid(T)) return place;
  return -1;
}

struct Plain {
  int value = 7;
};
TEST(ProcessState, a_part_is_made_at_its_first_use_and_stays) {
  EXPECT_EQ(place_of<Plain>(), -1);
  Plain& part = ProcessState::part<Plain>();
  EXPECT_EQ(part.value, 7);
  part.value = 8;
  EXPECT_EQ(&ProcessState::part<Plain>(), &part);
  EXPECT_EQ(ProcessState::part<Plain>().value, 8);
  ASSERT_EQ(place_of<Plain>(), 0);
  EXPECT_EQ(ProcessState::newest()->object, &part);
}

struct Below {
  int value = 1;
};
struct Above {
  int value = ProcessState::part<Below>().value + 1;
};
TEST(ProcessState, a_part_that_a_constructor_uses_comes_before_its_own) {
  EXPECT_EQ(ProcessState::part<Above>().value, 2);
  EXPECT_EQ(place_of<Above>(), 0);
  EXPECT_EQ(place_of<Below>(), 1);
}

struct Fails {
  static inline int s_tries = 0;
  Fails() {
    if (++s_tries == 1) throw std::runtime_error("the first time");
  }
};
TEST(ProcessState, a_part_whose_constructor_throws_is_made_by_the_next_call) {
  EXPECT_THROW((void)ProcessState::part<Fails>(), std::runtime_error);
  EXPECT_EQ(place_of<Fails>(), -1);
  (void)ProcessState::part<Fails>();
  EXPECT_EQ(place_of<Fails>(), 0);
}

template <int>
struct Shared {
  static inline std::atomic<int> s_made{0};
  Shared() { ++s_made; }
};
TEST(ProcessState, threads_make_each_part_once) {
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      while (!go) {
      }
      (void)ProcessState::part<Shared<0>>();
      (void)ProcessState::part<Shared<1>>();
      (void)ProcessState::part<Shared<2>>();
    });
  }
  go = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Shared<0>::s_made, 1);
  EXPECT_EQ(Shared<1>::s_made, 1);
  EXPECT_EQ(Shared<2>::s_made, 1);
  EXPECT_GE(place_of<Shared<0>>(), 0);
  EXPECT_GE(place_of<Shared<1>>(), 0);
  EXPECT_GE(place_of<Shared<2>>(), 0);
}

}  // namespace
}  // namespace strake
