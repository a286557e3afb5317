/// \file  Messages by shared memory, without MPI: two ranks in one process, or in two.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "in_child.hpp"
#include "shared_pair.hpp"
#include "strake/error.hpp"

namespace strake::exchange::shared {
namespace {

using sharing::SharedMemory;

TEST(Shared, a_message_is_found_from_its_headers_turn_on) {
  Pair pair;
  pair.connect();
  const auto first = pair.send_segment.lease(to_one(), 3000);
  const auto second = pair.lease(to_one(), 4000);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(pair.peer_segments.is_header(first->header(), 0));
  EXPECT_EQ(pair.peer_segments.bytes_of_next(from_zero(), second->length(), false), 4000);
  pair.send_segment.go_live(*first);
  EXPECT_TRUE(pair.peer_segments.is_header(first->header(), 0));
  EXPECT_EQ(pair.peer_segments.bytes_of_next(from_zero(), second->length(), false),
            4000);  // which went live before
}

TEST(Shared, a_message_goes_and_its_memory_is_used_again) {
  Pair pair;
  pair.connect();
  const auto sent = bytes_of(1, 50'000);
  const auto lease = pair.lease(to_one(), 50'000);
  ASSERT_TRUE(lease);
  pack(*lease, sent);
  const auto delivery = pair.peer_segments.open(lease->header(), 0);
  ASSERT_TRUE(delivery);
  EXPECT_EQ(delivery->bytes(), 50'000);
  // Neither is enough alone: that MPI has let go of the header message, that the receiver is done.
  pair.send_segment.release(*lease);
  const auto second = pair.lease(to_one(), 50'000);
  ASSERT_TRUE(second);
  EXPECT_NE(second->data(), lease->data());
  EXPECT_EQ(take(*delivery), sent);
  const auto third = pair.lease(to_one(), 50'000);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->data(), lease->data());
  // The old header message names nothing any more.
  EXPECT_FALSE(pair.peer_segments.open(second->header(), 1));
}

TEST(Shared, an_header_is_good_once_and_for_its_receiver_alone) {
  Pair pair;
  pair.connect();
  const auto lease = pair.lease(to_one(), 2000);
  ASSERT_TRUE(lease);
  pack(*lease, bytes_of(2, 2000));
  std::vector<std::byte> landed(lease->header(), lease->header() + kLongestHeader);
  for (const std::size_t byte : {0U, 7U, 8U, 11U, 12U, 15U}) {
    landed[byte] ^= std::byte{0x80};
    EXPECT_FALSE(pair.peer_segments.open(landed.data(), 0)) << byte;
    landed[byte] ^= std::byte{0x80};
  }
  EXPECT_FALSE(pair.peer_segments.open(landed.data(), 1));   // from another rank
  EXPECT_FALSE(pair.peer_segments.open(landed.data(), -1));  // of another job
  EXPECT_FALSE(pair.peer_segments.open(landed.data(), 2));
  const auto elsewhere = pair.lease({0, 5, kWorld}, 2000);
  ASSERT_TRUE(elsewhere);
  EXPECT_FALSE(pair.peer_segments.open(elsewhere->header(), 0));
  const auto delivery = pair.peer_segments.open(landed.data(), 0);
  ASSERT_TRUE(delivery);
  delivery->done();
  EXPECT_FALSE(pair.peer_segments.open(landed.data(), 0));
}

TEST(Shared, where_no_memory_or_slot_is_left_the_message_goes_another_way) {
  Pair pair;
  pair.connect();
  EXPECT_FALSE(pair.lease(to_one(), kMemory + 1));
  std::vector<Lease> leases;
  while (auto lease = pair.lease(to_one(), kMemory / 8)) leases.push_back(*lease);
  EXPECT_EQ(leases.size(), 8U);
  pair.send_segment.withdraw(leases[3]);
  const auto again = pair.lease(to_one(), kMemory / 8);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->data(), leases[3].data());
  EXPECT_FALSE(pair.lease(to_one(), kMemory / 8));

  Pair other;
  std::uint32_t marks = 0;
  while (other.send_segment.add_placeholder(to_one(), kLongestHeader)) ++marks;
  EXPECT_EQ(marks, kDescriptors);
}

TEST(Shared, pages_that_are_not_as_expected_are_refused) {
  const auto refused = [](auto&& change, bool unsealed = false) {
    Pair pair;
    peers::Announcement made = pair.announcement();
    change(made);
    int descriptor = -1;
    if (unsealed) {
      descriptor = memfd_create("strake-test", MFD_CLOEXEC);
      EXPECT_EQ(ftruncate(descriptor, made.from.bytes), 0);
    }
    EXPECT_EQ(pair.send(made, descriptor), Sent::Yes);
    if (descriptor >= 0) close(descriptor);
    const auto lease = pair.lease(to_one(), 2000);
    pair.one.take_announcements();
    EXPECT_FALSE(pair.zero.is_read_by(1));
    EXPECT_FALSE(pair.peer_segments.open(lease->header(), 0));
    // A good one after it is taken.
    pair.connect();
    EXPECT_TRUE(pair.peer_segments.open(lease->header(), 0));
  };
  refused([](peers::Announcement& made) { made.from.magic = 1; });
  refused([](peers::Announcement& made) { made.from.version = peers::kVersion + 1; });
  refused([](peers::Announcement& made) { made.job = kJob + 1; });
  refused([](peers::Announcement& made) { made.from.rank = 2; });
  refused([](peers::Announcement& made) { made.from.rank = -1; });
  refused([](peers::Announcement& made) { made.from.ranks = 3; });
  refused([](peers::Announcement& made) { made.from.bytes = 100; });
  refused([](peers::Announcement& made) { made.from.bytes += 4096; });
  refused([](peers::Announcement&) {}, true);

  Pair pair;
  const std::byte nothing[3] = {};
  EXPECT_EQ(pair.stranger.send(peers::socket_name(kJob, 1).text, nothing,
                               std::array{pair.zero.own().descriptor()}),
            Sent::Yes);
  pair.one.take_announcements();
  EXPECT_FALSE(pair.zero.is_read_by(1));
}

TEST(Shared, pages_are_looked_for_ever_more_rarely) {
  Pair pair;
  const auto introduced_after = [&](int looks) {
    for (int i = 0; i < looks; ++i) pair.one.expect(0);
    return pair.zero.is_read_by(1);
  };
  EXPECT_FALSE(introduced_after(5));
  ASSERT_EQ(pair.send(pair.announcement()), Sent::Yes);
  EXPECT_FALSE(introduced_after(2));  // the sixth and seventh
  EXPECT_TRUE(introduced_after(1));
}

TEST(Shared, a_receiver_is_told_that_no_more_will_come) {
  Pair pair;
  pair.connect();
  const auto lease = pair.lease(to_one(), 2000);
  lease->packed(1000);
  const auto delivery = pair.peer_segments.open(lease->header(), 0);
  ASSERT_TRUE(delivery);
  EXPECT_EQ(delivery->wait_until(1), 1000);
  lease->packed(kFailed);
  EXPECT_THROW(delivery->for_each_piece(2000, [](ByteRange, const std::byte*) {}), Error);
}

TEST(Shared, a_receiver_is_told_that_the_sender_has_died) {
  const auto directory = own_directory();
  peers::Directory one(directory, rank_of_two(1));
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  in_child([&] {
    // A process that is killed runs no destructors.
    auto& zero = *new peers::Directory(directory, rank_of_two(0));
    SendSegment send_segment(zero);
    (void)zero.announce_to(1);
    const auto lease = send_segment.lease(to_one(), 20'000);
    if (lease) send_segment.go_live(*lease);
    lease->packed(10'000);
    return write(pipe_ends[1], lease->header(), kLongestHeader) == kLongestHeader ? 0 : 1;
  });
  std::vector<std::byte> landed(kLongestHeader);
  ASSERT_EQ(read(pipe_ends[0], landed.data(), landed.size()), kLongestHeader);
  PeerSegments peer_segments(one, 0);
  one.take_announcements();
  const auto delivery = peer_segments.open(landed.data(), 0);
  ASSERT_TRUE(delivery);
  EXPECT_EQ(delivery->wait_until(1), 10'000);
  EXPECT_THROW((void)delivery->wait_until(20'000), Error);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

/// The receiver's answers to a segment that is written at random.
TEST(Shared, no_page_makes_the_receiver_leave_the_page) {
  Pair pair;
  pair.connect();
  std::mt19937_64 random(3);
  auto lease = pair.lease(to_one(), 2000);
  ASSERT_TRUE(lease);
  const auto table = pair.map_segment();
  Descriptor& descriptor = Pair::descriptor_in(table, 0);
  constexpr std::int64_t kFirst = Parts(2).bytes;
  const std::int64_t edges[] = {INT64_MIN,     -1,        0,       kFirst - 1,   kFirst,
                                table.bytes(), INT64_MAX, kMemory, kDescriptors, kLongestHeader,
                                2000};
  const auto draw = [&] {
    return random() % 2 == 0 ? edges[random() % std::size(edges)]
                             : static_cast<std::int64_t>(random());
  };
  int opened = 0;
  for (int round = 0; round < 20'000; ++round) {
    descriptor.state.store(static_cast<State>(random() % 5));
    descriptor.at.store(draw());
    descriptor.bytes.store(draw());
    descriptor.packed.store(INT64_MAX);
    try {
      const auto delivery = pair.peer_segments.open(lease->header(), 0);
      if (!delivery) continue;
      ++opened;
      EXPECT_GT(delivery->bytes(), kLongestHeader);
      delivery->for_each_piece(delivery->bytes(), [&](ByteRange piece, const std::byte* packed) {
        EXPECT_LE(piece.end, delivery->bytes());
        volatile std::byte last = packed[piece.end - 1];
        (void)last;
      });
    } catch (const Error&) {
      // Refused.
    }
  }
  EXPECT_GT(opened, 0);
}

TEST(Shared, two_threads_exchange_thousands_of_messages) {
  Pair pair;
  pair.connect();
  constexpr int kMessages = 3000;
  std::mutex mutex;
  std::deque<std::pair<int, std::vector<std::byte>>> wire;  // MPI's part: header messages
  const auto size_of = [](int i) { return std::int64_t{993} + i * 37 % 60'000; };
  std::thread receiver([&] {
    std::deque<std::pair<int, Delivery>> late;
    for (int taken = 0; taken < kMessages;) {
      std::optional<std::pair<int, std::vector<std::byte>>> next;
      {
        const std::lock_guard lock(mutex);
        if (!wire.empty()) {
          next = std::move(wire.front());
          wire.pop_front();
        }
      }
      if (next) {
        const auto delivery = pair.peer_segments.open(next->second.data(), 0);
        ASSERT_TRUE(delivery);
        late.emplace_back(next->first, *delivery);
      }
      // Some are looked at later, and out of order.
      while (!late.empty() && (late.size() > 4 || !next)) {
        const std::size_t at = late.size() % 2 == 0 ? 0 : late.size() - 1;
        const auto [number, delivery] = late[at];
        late.erase(late.begin() + static_cast<std::ptrdiff_t>(at));
        ASSERT_EQ(take(delivery), bytes_of(number, size_of(number)));
        ++taken;
      }
      if (!next && late.empty()) std::this_thread::yield();
    }
  });
  for (int i = 0; i < kMessages;) {
    const auto lease = pair.lease(to_one(), size_of(i));
    if (!lease) {
      std::this_thread::yield();
      continue;
    }
    {
      const std::lock_guard lock(mutex);
      wire.emplace_back(i,
                        std::vector<std::byte>(lease->header(), lease->header() + kLongestHeader));
    }
    pack(*lease, bytes_of(i, size_of(i)), 4096);
    pair.send_segment.release(*lease);
    ++i;
  }
  receiver.join();
}

}  // namespace
}  // namespace strake::exchange::shared
