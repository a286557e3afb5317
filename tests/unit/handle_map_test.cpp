// The map of handles, against one of the standard library's.
#include "memory/handle_map.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>

namespace strake {
namespace {

TEST(HandleMap, finds_what_was_added_and_nothing_else) {
  HandleMap<int> map;
  EXPECT_EQ(map.find(0), nullptr);
  map.add(0) = 1;
  map.add(~std::uint64_t{0}) = 2;
  EXPECT_EQ(*map.find(0), 1);
  EXPECT_EQ(*map.find(~std::uint64_t{0}), 2);
  EXPECT_EQ(map.add(0), 1);
  map.erase(0);
  map.erase(7);
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_EQ(map.size(), 1U);
  EXPECT_EQ(map.add(0), 0);  // a new one
}

/// Handles as the libraries give them: addresses of blocks, and small numbers with a kind in front.
TEST(HandleMap, is_as_a_map_whatever_is_added_and_erased) {
  std::mt19937_64 random(11);
  for (const std::uint64_t stride : {1, 16, 352, 1 << 20}) {
    HandleMap<std::shared_ptr<std::uint64_t>> map;
    std::map<std::uint64_t, std::uint64_t> expected;
    for (int step = 0; step < 20000; ++step) {
      const std::uint64_t key = 0x8C000000 + stride * (random() % 1500);
      if (random() % 2 == 0) {
        map.add(key) = std::make_shared<std::uint64_t>(random());
        expected[key] = *map.add(key);
      } else {
        map.erase(key);
        expected.erase(key);
      }
      ASSERT_EQ(map.size(), expected.size());
      const std::uint64_t other = 0x8C000000 + stride * (random() % 1500);
      const auto* const found = map.find(other);
      const auto there = expected.find(other);
      ASSERT_EQ(found != nullptr, there != expected.end());
      if (found != nullptr) {
        ASSERT_EQ(**found, there->second);
      }
    }
    for (const auto& [key, value] : expected) ASSERT_EQ(**map.find(key), value);
  }
}

}  // namespace
}  // namespace strake
