/// \file  What probes are told of messages by shared memory, without MPI.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "shared_pair.hpp"

namespace strake::exchange::shared {
namespace {

TEST(Shared, a_probe_is_told_of_the_next_message) {
  Pair pair;
  pair.introduce();
  const auto bytes_of_next = [&](bool matched = false) {
    return pair.inbox.bytes_of_next(0, 5, kWorld, matched);
  };
  EXPECT_EQ(bytes_of_next(), kEnvelopeBytes);  // none goes by a slot
  ASSERT_TRUE(pair.outbox.mark(to_one()));
  const auto first = pair.lease(to_one(), 3000);
  ASSERT_TRUE(pair.lease(to_one(6), 7000));
  ASSERT_TRUE(pair.lease(to_one(5, 2), 8000));
  const auto second = pair.lease(to_one(), 4000);
  ASSERT_TRUE(pair.outbox.mark(to_one()));
  const auto third = pair.lease(to_one(), 5000);
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(bytes_of_next(), kEnvelopeBytes);
  pair.inbox.drop_mark(0, 5, kWorld);  // the first message was received
  EXPECT_EQ(bytes_of_next(), 3000);
  EXPECT_EQ(bytes_of_next(true), 3000);  // matched, and not received yet
  EXPECT_EQ(bytes_of_next(), 4000);
  pair.inbox.see(second->envelope(), 0);  // it has come to a receive that was posted before
  EXPECT_EQ(bytes_of_next(true), kEnvelopeBytes);
  EXPECT_EQ(bytes_of_next(), 5000);
  pair.inbox.drop_mark(0, 5, kWorld);  // there is no other one that was not matched
  EXPECT_EQ(bytes_of_next(), 5000);
  pair.inbox.drop_mark(0, 5, kWorld, true);  // the one that was matched
  EXPECT_EQ(bytes_of_next(), 5000);
  EXPECT_TRUE(pair.inbox.open(first->envelope(), 0));
  EXPECT_TRUE(pair.inbox.open(second->envelope(), 0));
}

/// The sender's part, which runs while the receiver is interrupted, between any two of its
/// instructions.
std::function<void()> g_interruption;
std::atomic<bool> g_interrupted{false};

TEST(Shared, a_probe_is_told_of_the_next_message_while_slots_are_used_again) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer keeps signals back until the next call of the C library";
#endif
  Pair pair;
  pair.introduce();
  struct sigaction interrupt {};
  struct sigaction before {};
  interrupt.sa_handler = [](int) {
    g_interruption();
    g_interrupted = true;
  };
  ASSERT_EQ(sigaction(SIGUSR1, &interrupt, &before), 0);
  std::atomic<int> wanted{0};
  std::thread interrupter([&wanted, receiver = pthread_self()] {
    constexpr int kEnd = -1;
    for (int done = 0, round = 0; (round = wanted.load()) != kEnd;) {
      if (round == done) continue;
      done = round;
      pthread_kill(receiver, SIGUSR1);
    }
  });
  int wrong = 0;
  for (int round = 1; round <= 5000; ++round) {
    // The slot of a message to another rank becomes that of a later message to this one.
    const auto other = pair.lease({0, 5, kWorld}, 2000);
    const auto next = pair.lease(to_one(), 3000);
    std::optional<Lease> later;
    g_interruption = [&] {
      pair.outbox.withdraw(*other);
      later = pair.lease(to_one(), 4000);
    };
    g_interrupted = false;
    wanted = round;
    std::int64_t bytes = 0;
    do bytes = pair.inbox.bytes_of_next(0, 5, kWorld, false);
    while (!g_interrupted);
    wrong += bytes != 3000 ? 1 : 0;
    for (const auto& lease : {next, later}) pair.outbox.withdraw(*lease);
  }
  wanted = -1;
  interrupter.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(wrong, 0);
}

TEST(Shared, what_a_receive_was_too_short_for_is_no_next_message_and_its_slot_comes_back) {
  Pair pair;
  pair.introduce();
  const auto bytes_of_next = [&] { return pair.inbox.bytes_of_next(0, 5, kWorld, false); };
  const auto anywhere = [](std::int32_t, std::uint64_t) { return true; };
  EXPECT_FALSE(pair.inbox.suspect(0, 5, kWorld));
  ASSERT_TRUE(pair.outbox.mark(to_one()));
  const auto lost = pair.lease(to_one(), 3000);
  ASSERT_TRUE(pair.lease(to_one(6), 7000));
  ASSERT_TRUE(pair.lease(to_one(5, 2), 8000));
  const auto next = pair.lease(to_one(), 4000);
  ASSERT_TRUE(lost && next);
  EXPECT_TRUE(pair.inbox.suspect(0, 5, kWorld));
  EXPECT_EQ(bytes_of_next(), 3000);
  EXPECT_TRUE(pair.inbox.suspect(0, 5, kWorld));
  EXPECT_EQ(bytes_of_next(), 4000);
  // No later message proves that they were matched: one of them may still be received.
  EXPECT_FALSE(pair.inbox.has_overtaken());
  pair.inbox.free_overtaken(anywhere);
  EXPECT_FALSE(lost->taken());
  ASSERT_TRUE(pair.inbox.open(next->envelope(), 0));
  EXPECT_TRUE(pair.inbox.has_overtaken());
  pair.inbox.free_overtaken([](std::int32_t, std::uint64_t) { return false; });
  EXPECT_FALSE(lost->taken());
  pair.inbox.free_overtaken(
      [](std::int32_t rank, std::uint64_t comm) { return rank == 0 && comm == kWorld; });
  EXPECT_TRUE(lost->taken());
  EXPECT_FALSE(pair.inbox.has_overtaken());
  EXPECT_EQ(bytes_of_next(), kEnvelopeBytes);  // neither the mark nor the message
}

TEST(Shared, a_suspect_that_comes_after_all_is_received) {
  Pair pair;
  pair.introduce();
  const auto first = pair.lease(to_one(), 3000);
  const auto second = pair.lease(to_one(), 4000);
  ASSERT_TRUE(first && second);
  pack(*first, bytes_of(1, 3000));
  ASSERT_TRUE(pair.inbox.suspect(0, 5, kWorld));
  const auto delivery = pair.inbox.open(first->envelope(), 0);
  ASSERT_TRUE(delivery);
  EXPECT_EQ(take(*delivery), bytes_of(1, 3000));
  EXPECT_EQ(pair.inbox.bytes_of_next(0, 5, kWorld, false), 4000);
  // A suspect that is alone is what a probe has found.
  ASSERT_TRUE(pair.inbox.suspect(0, 5, kWorld));
  EXPECT_EQ(pair.inbox.bytes_of_next(0, 5, kWorld, false), 4000);
  ASSERT_TRUE(pair.inbox.open(second->envelope(), 0));
}

TEST(Shared, senders_are_told_by_tag) {
  Pair pair;
  pair.introduce();
  ASSERT_TRUE(pair.outbox.mark(to_one()));
  ASSERT_TRUE(pair.outbox.mark(to_one()));
  ASSERT_TRUE(pair.outbox.mark(to_one(5, 2)));
  ASSERT_TRUE(pair.outbox.mark(to_one(6, 3)));
  ASSERT_TRUE(pair.outbox.mark({0, 5, 4}));
  const auto senders = pair.inbox.senders(5);
  ASSERT_EQ(senders.size(), 2U);
  EXPECT_EQ(senders[0], (Inbox::Sender{0, kWorld}));
  EXPECT_EQ(senders[1], (Inbox::Sender{0, 2}));
}

}  // namespace
}  // namespace strake::exchange::shared
