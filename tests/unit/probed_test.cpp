/// \file  Answers to probes for messages by shared memory, without MPI.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "shared_pair.hpp"

namespace strake::exchange::shared {
namespace {

TEST(Shared, a_probe_is_told_of_the_next_message) {
  Pair pair;
  pair.connect();
  const auto bytes_of_next = [&](std::int64_t length, bool matched = false) {
    return pair.peer_segments.bytes_of_next(from_zero(), length, matched);
  };
  EXPECT_EQ(bytes_of_next(kLongestHeader), kLongestHeader);  // none goes by a descriptor
  ASSERT_TRUE(pair.send_segment.add_placeholder(to_one(), kLongestHeader));
  const auto first = pair.lease(to_one(), 3000);
  ASSERT_TRUE(pair.lease(to_one(6), 7000));
  ASSERT_TRUE(pair.lease(to_one(5, 2), 8000));
  const auto second = pair.lease(to_one(), 4000);
  ASSERT_TRUE(pair.send_segment.add_placeholder(to_one(), kShortestHeader));
  const auto third = pair.lease(to_one(), 5000);
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(bytes_of_next(kLongestHeader), kLongestHeader);
  pair.peer_segments.end_placeholder(from_zero(),
                                     kLongestHeader);  // the first message was received
  EXPECT_EQ(bytes_of_next(first->length()), 3000);
  EXPECT_EQ(bytes_of_next(first->length(), true), 3000);  // matched, and not received yet
  EXPECT_EQ(bytes_of_next(second->length()), 4000);
  pair.peer_segments.see(second->header(), 0);  // it has come to a receive that was posted before
  EXPECT_EQ(bytes_of_next(kShortestHeader, true), kShortestHeader);
  EXPECT_EQ(bytes_of_next(third->length()), 5000);
  pair.peer_segments.end_placeholder(from_zero(), kShortestHeader);  // no other one was not matched
  EXPECT_EQ(bytes_of_next(third->length()), 5000);
  pair.peer_segments.end_placeholder(from_zero(), kShortestHeader,
                                     true);  // the one that was matched
  EXPECT_EQ(bytes_of_next(third->length()), 5000);
  EXPECT_TRUE(pair.peer_segments.open(first->header(), 0));
  EXPECT_TRUE(pair.peer_segments.open(second->header(), 0));
}

TEST(Shared, the_length_tells_which_message_is_next_where_receives_were_too_short) {
  Pair pair;
  pair.connect();
  std::vector<Lease> all;
  for (int i = 0; i < 6; ++i) all.push_back(pair.lease(to_one(), 3000 + i).value());
  const auto bytes_of_next = [&](int i) {
    return pair.peer_segments.bytes_of_next(from_zero(), all[static_cast<std::size_t>(i)].length(),
                                            false);
  };
  EXPECT_EQ(bytes_of_next(0), 3000);
  EXPECT_EQ(bytes_of_next(1), 3001);  // a receive has got the first, and is not completed yet
  EXPECT_EQ(bytes_of_next(2), 3002);
  ASSERT_TRUE(pair.peer_segments.suspect(from_zero()));
  EXPECT_EQ(bytes_of_next(1), 3001);
  EXPECT_EQ(bytes_of_next(3), 3003);
  EXPECT_EQ(bytes_of_next(0), 3000);  // a wrong suspect
  EXPECT_FALSE(pair.peer_segments.suspect(from_zero(), kLongestHeader + 32));
}

TEST(Shared, headers_that_follow_each_other_differ_in_length) {
  Pair pair;
  pair.connect();
  std::map<std::pair<int, std::uint64_t>, std::int64_t> last;
  std::mt19937 random(5);
  std::vector<Lease> live;
  // More destinations than are remembered: then what is live is asked.
  for (int i = 0; i < 20'000; ++i) {
    const Destination to = to_one(static_cast<int>(random() % 40), 1 + random() % 10);
    const auto lease = pair.lease(to, 1000);
    ASSERT_TRUE(lease);
    EXPECT_TRUE(is_header_length(lease->length()));
    EXPECT_NE(lease->length(), std::exchange(last[{to.tag, to.comm}], lease->length()));
    live.push_back(*lease);
    if (live.size() < 200) continue;
    for (const Lease& one : live) pair.send_segment.withdraw(one);
    live.clear();
    last.clear();
  }
}

TEST(Shared, a_length_that_messages_have_without_a_slot_is_no_headers) {
  Pair pair;
  pair.connect();
  Lengths& lengths = pair.send_segment.lengths();
  lengths.spoil(1, 928);
  lengths.spoil(1, 864);
  lengths.avoid(to_one(), 832);
  for (const std::int64_t expected : {992, 896, 992, 896})
    EXPECT_EQ(pair.lease(to_one(), 3000)->length(), expected);
  EXPECT_FALSE(lengths.all_spoiled(1));
  lengths.spoil(1, 992);
  lengths.spoil(1, 896);
  EXPECT_EQ(pair.lease(to_one(), 3000)->length(), 832);  // avoided, but the last one
  lengths.spoil(1, 832);
  EXPECT_TRUE(lengths.all_spoiled(1));
  EXPECT_FALSE(lengths.all_spoiled(0));
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
  pair.connect();
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
    // The descriptor of a message to another rank becomes that of a later message to this one.
    const auto other = pair.lease({0, 5, kWorld}, 2000);
    const auto next = pair.lease(to_one(), 3000);
    std::optional<Lease> later;
    g_interruption = [&] {
      pair.send_segment.withdraw(*other);
      later = pair.lease(to_one(), 4000);
    };
    g_interrupted = false;
    wanted = round;
    std::int64_t bytes = 0;
    do bytes = pair.peer_segments.bytes_of_next(from_zero(), next->length(), false);
    while (!g_interrupted);
    wrong += bytes != 3000 ? 1 : 0;
    for (const auto& lease : {next, later}) pair.send_segment.withdraw(*lease);
  }
  wanted = -1;
  interrupter.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(wrong, 0);
}

TEST(Shared, what_a_receive_was_too_short_for_is_no_next_message_and_its_slot_comes_back) {
  Pair pair;
  pair.connect();
  const auto bytes_of_next = [&](std::int64_t length) {
    return pair.peer_segments.bytes_of_next(from_zero(), length, false);
  };
  const auto anywhere = [](std::int32_t, std::uint64_t) { return true; };
  EXPECT_FALSE(pair.peer_segments.suspect(from_zero()));
  ASSERT_TRUE(pair.send_segment.add_placeholder(to_one(), kLongestHeader));
  const auto lost = pair.lease(to_one(), 3000);
  ASSERT_TRUE(pair.lease(to_one(6), 7000));
  ASSERT_TRUE(pair.lease(to_one(5, 2), 8000));
  const auto next = pair.lease(to_one(), 4000);
  ASSERT_TRUE(lost && next);
  EXPECT_TRUE(pair.peer_segments.suspect(from_zero()));
  EXPECT_EQ(bytes_of_next(lost->length()), 3000);
  EXPECT_TRUE(pair.peer_segments.suspect(from_zero()));
  EXPECT_EQ(bytes_of_next(next->length()), 4000);
  // No later message proves that they were matched: one of them may still be received.
  EXPECT_FALSE(pair.peer_segments.has_overtaken());
  pair.peer_segments.free_overtaken(anywhere);
  EXPECT_FALSE(lost->taken());
  ASSERT_TRUE(pair.peer_segments.open(next->header(), 0));
  EXPECT_TRUE(pair.peer_segments.has_overtaken());
  pair.peer_segments.free_overtaken([](std::int32_t, std::uint64_t) { return false; });
  EXPECT_FALSE(lost->taken());
  pair.peer_segments.free_overtaken(
      [](std::int32_t rank, std::uint64_t comm) { return rank == 0 && comm == kWorld; });
  EXPECT_TRUE(lost->taken());
  EXPECT_FALSE(pair.peer_segments.has_overtaken());
  EXPECT_EQ(bytes_of_next(kLongestHeader),
            kLongestHeader);  // neither the placeholder nor the message
}

/// Two messages of 3000 and 4000 bytes, with the same tag and communicator.
class TwoMessages : public Pair {
  Lease begin() {
    connect();
    return lease(to_one(), 3000).value();
  }

 public:
  Lease first = begin();
  Lease second = lease(to_one(), 4000).value();
};

TEST(Shared, a_suspect_that_a_receive_turns_out_to_have_got_is_not_freed) {
  TwoMessages pair;
  ASSERT_TRUE(pair.peer_segments.suspect(from_zero()));
  ASSERT_TRUE(pair.peer_segments.open(pair.second.header(), 0));
  pair.peer_segments.free_overtaken([&](std::int32_t, std::uint64_t) {
    pair.peer_segments.see(pair.first.header(), 0);
    return true;
  });
  EXPECT_FALSE(pair.first.taken());
  EXPECT_TRUE(pair.peer_segments.open(pair.first.header(), 0));
}

TEST(Shared, a_probe_that_takes_one_message_for_another_makes_no_message_overtaken) {
  Pair pair;
  pair.connect();
  std::vector<Lease> all;
  for (int i = 0; i < 6; ++i) all.push_back(pair.lease(to_one(), 3000 + i).value());
  // The receives were too short for messages of MPI's own: no suspect is one.
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pair.peer_segments.suspect(from_zero()));
  EXPECT_EQ(pair.peer_segments.bytes_of_next(from_zero(), all[0].length(), true),
            3005);  // not 3000
  for (const Lease& next : all) {
    (void)pair.peer_segments.bytes_of_next(from_zero(), next.length(), false);
    pair.peer_segments.free_overtaken([](std::int32_t, std::uint64_t) { return true; });
    EXPECT_FALSE(next.taken());
    EXPECT_TRUE(pair.peer_segments.open(next.header(), 0));
  }
}

TEST(Shared, a_slot_that_becomes_another_message_while_it_is_overtaken_is_not_freed) {
  TwoMessages pair;
  ASSERT_TRUE(pair.peer_segments.suspect(from_zero()));
  ASSERT_TRUE(pair.peer_segments.open(pair.second.header(), 0));
  std::optional<Lease> other;
  pair.peer_segments.free_overtaken([&](std::int32_t, std::uint64_t) {
    pair.send_segment.withdraw(pair.first);
    while (!other || other->header() != pair.first.header()) other = pair.lease(to_one(6), 500);
    return true;
  });
  EXPECT_FALSE(other->taken());
  EXPECT_FALSE(pair.peer_segments.has_overtaken());
}

TEST(Shared, a_probe_may_look_while_what_was_overtaken_is_freed) {
  Pair pair;
  pair.connect();
  std::vector<Lease> all;
  for (int i = 0; i < 9; ++i) all.push_back(pair.lease(to_one(), 3000 + i).value());
  ASSERT_TRUE(pair.peer_segments.suspect(from_zero()));
  ASSERT_TRUE(pair.peer_segments.open(all[8].header(), 0));
  const auto next = pair.lease(to_one(), 4000);
  ASSERT_TRUE(next);
  pair.peer_segments.free_overtaken([&](std::int32_t, std::uint64_t) {
    EXPECT_EQ(pair.peer_segments.bytes_of_next(from_zero(), next->length(), false), 4000);
    return true;
  });
  EXPECT_TRUE(all[0].taken());
  pair.peer_segments.free_overtaken([](std::int32_t, std::uint64_t) { return true; });
  for (std::size_t i = 0; i < 8; ++i) EXPECT_TRUE(all[i].taken());
  EXPECT_FALSE(pair.peer_segments.has_overtaken());
}

TEST(Shared, a_suspect_that_comes_after_all_is_received) {
  TwoMessages pair;
  pack(pair.first, bytes_of(1, 3000));
  ASSERT_TRUE(pair.peer_segments.suspect(from_zero()));
  const auto delivery = pair.peer_segments.open(pair.first.header(), 0);
  ASSERT_TRUE(delivery);
  EXPECT_EQ(take(*delivery), bytes_of(1, 3000));
  EXPECT_EQ(pair.peer_segments.bytes_of_next(from_zero(), pair.second.length(), false), 4000);
  // A suspect that is alone is what a probe has found.
  ASSERT_TRUE(pair.peer_segments.suspect(from_zero()));
  EXPECT_EQ(pair.peer_segments.bytes_of_next(from_zero(), pair.second.length(), false), 4000);
  ASSERT_TRUE(pair.peer_segments.open(pair.second.header(), 0));
}

TEST(Shared, senders_are_told_by_tag) {
  Pair pair;
  pair.connect();
  ASSERT_TRUE(pair.send_segment.add_placeholder(to_one(), kLongestHeader));
  ASSERT_TRUE(pair.send_segment.add_placeholder(to_one(), kLongestHeader));
  ASSERT_TRUE(pair.send_segment.add_placeholder(to_one(5, 2), kLongestHeader));
  ASSERT_TRUE(pair.send_segment.add_placeholder(to_one(6, 3), kLongestHeader));
  ASSERT_TRUE(pair.send_segment.add_placeholder({0, 5, 4}, kLongestHeader));
  const auto senders = pair.peer_segments.senders(5);
  ASSERT_EQ(senders.size(), 2U);
  EXPECT_EQ(senders[0], (PeerSegments::Sender{0, kWorld}));
  EXPECT_EQ(senders[1], (PeerSegments::Sender{0, 2}));
}

}  // namespace
}  // namespace strake::exchange::shared
