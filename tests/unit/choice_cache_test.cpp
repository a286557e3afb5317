#include "exchange/choice_cache.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace strake::exchange {
namespace {

/// Transfers as applications have them: many small numbers, in all combinations.
std::vector<Message> random_messages(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Message> made;
  made.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    Message t;
    t.direction = static_cast<Direction>(random() % 2);
    t.dense = random() % 2 == 0;
    t.place = {static_cast<MemoryKind>(random() % 4), static_cast<std::int32_t>(random() % 9) - 1};
    t.blocks = 1 + static_cast<std::int64_t>(random() % 1000);
    t.bytes = t.blocks * (std::int64_t{8} << random() % 4);
    t.spread = static_cast<Spread>(random() % 4);
    t.nonblocking = random() % 2 == 0;
    t.pitch = std::int64_t{16} << random() % 8;
    made.push_back(t);
  }
  return made;
}

/// A choice that every part of a message has a say in.
Choice made_up(const Message& t) {
  const auto mixed = static_cast<std::uint64_t>(
      t.bytes * 31 + t.blocks * 17 + t.pitch * 7 + static_cast<int>(t.direction) * 3 +
      static_cast<int>(t.dense) * 5 + static_cast<int>(t.place.kind) * 11 + t.place.device * 13 +
      static_cast<int>(t.spread) * 19 + static_cast<int>(t.nonblocking) * 23);
  return {static_cast<Method>(mixed % machine::kMethods), static_cast<Reason>(mixed % kReasons)};
}

bool same(Choice a, Choice b) { return a.method == b.method && a.reason == b.reason; }

TEST(ChoiceCache, knows_nothing_at_first) {
  const auto cache = std::make_unique<ChoiceCache>();
  for (const Message& t : random_messages(1000, 1)) EXPECT_FALSE(cache->find(t));
}

TEST(ChoiceCache, finds_10000_keys_again) {
  const auto cache = std::make_unique<ChoiceCache>();
  const auto messages = random_messages(10000, 2);
  for (const Message& t : messages) {
    if (!cache->find(t)) cache->insert(t, made_up(t));
  }
  for (const Message& t : messages) {
    const auto found = cache->find(t);
    ASSERT_TRUE(found);
    ASSERT_TRUE(same(*found, made_up(t)));
  }
}

TEST(ChoiceCache, tells_transfers_apart_by_every_part) {
  const auto cache = std::make_unique<ChoiceCache>();
  const Message one{};
  std::vector<Message> others(9, one);
  others[0].direction = Direction::Receive;
  others[1].dense = true;
  others[2].place.kind = MemoryKind::Device;
  others[3].place.device = 0;
  others[4].bytes = 1;
  others[5].blocks = 2;
  others[6].spread = Spread::Far;
  others[7].nonblocking = true;
  others[8].pitch = 1;
  cache->insert(one, {Method::Pack, Reason::None});
  EXPECT_TRUE(cache->find(one));
  for (const Message& other : others) EXPECT_FALSE(cache->find(other));
}

TEST(ChoiceCache, when_full_it_forgets_nothing_and_mistakes_nothing) {
  const auto cache = std::make_unique<ChoiceCache>();
  const auto early = random_messages(1000, 3);
  for (const Message& t : early) cache->insert(t, made_up(t));
  std::size_t missing = 0;
  for (const Message& t : random_messages(200000, 4)) {
    cache->insert(t, made_up(t));
    const auto found = cache->find(t);
    if (found) {
      ASSERT_TRUE(same(*found, made_up(t)));
    }
    missing += found ? 0 : 1;
  }
  EXPECT_GT(missing, 0U);
  for (const Message& t : early) ASSERT_TRUE(cache->find(t));
}

TEST(ChoiceCache, a_device_beyond_its_range_is_left_out) {
  const auto cache = std::make_unique<ChoiceCache>();
  Message t;
  t.place = {MemoryKind::Device, 1 << 20};
  cache->insert(t, {Method::Device, Reason::None});
  EXPECT_FALSE(cache->find(t));
}

TEST(ChoiceCache, threads_see_whole_entries) {
  const auto cache = std::make_unique<ChoiceCache>();
  const auto messages = random_messages(5000, 5);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (std::size_t n = 0; n < 4 * messages.size(); ++n) {
        const Message& t = messages[(n * 7 + i * 1250) % messages.size()];
        const auto found = cache->find(t);
        if (!found) {
          cache->insert(t, made_up(t));
        } else if (!same(*found, made_up(t))) {
          ++wrong;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  for (const Message& t : messages) EXPECT_TRUE(cache->find(t));
}

}  // namespace
}  // namespace strake::exchange
