// Planned exchanges: random transfers, ranks that are early or late, wrong parts.
#include "strake/exchange.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "drawn_transfers.hpp"
#include "refusal.hpp"
#include "strake/error.hpp"
#include "world.hpp"

namespace strake {
namespace {

/// This rank's arrays: those of even number can be read by others where they lie.
class Arrays {
 public:
  explicit Arrays(const std::vector<std::int64_t>& lengths) : lengths_(lengths) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (i % 2 == 0) {
        shared_.emplace_back(lengths[i] * kValue);
        bases_.push_back(shared_.back().data());
      } else {
        own_.emplace_back(static_cast<std::size_t>(lengths[i] * kValue));
        bases_.push_back(own_.back().data());
      }
    }
  }
  [[nodiscard]] Value* values(int array) {
    return reinterpret_cast<Value*>(bases_[static_cast<std::size_t>(array)]);
  }
  void fill(int array, int round) {
    for (std::int64_t i = 0; i < lengths_[static_cast<std::size_t>(array)]; ++i)
      values(array)[i] = value_of(rank(), array, i, round);
  }
  void fill_with(int array, Value value) {
    std::fill_n(values(array), lengths_[static_cast<std::size_t>(array)], value);
  }
  [[nodiscard]] std::span<std::byte* const> bases() const { return bases_; }
  [[nodiscard]] std::int64_t length(int array) const {
    return lengths_[static_cast<std::size_t>(array)];
  }

 private:
  std::vector<std::int64_t> lengths_;
  std::vector<SharedArray> shared_;
  std::vector<std::vector<std::byte>> own_;
  std::vector<std::byte*> bases_;
};

void delay(Draw& own) {
  if (own.between(0, 3) == 0) usleep(static_cast<useconds_t>(own.between(0, 2000)));
}

void run(Exchange& exchange, Draw& own) {
  delay(own);
  if (own.between(0, 1) == 0) {
    while (!exchange.test()) delay(own);
  } else {
    exchange.wait();
  }
}

void check_forward(const Drawn& drawn, Arrays& arrays, int round) {
  for (int array = kSendArrays; array < kArrays; ++array) {
    std::vector<Value> expected(static_cast<std::size_t>(arrays.length(array)), -7);
    for (const Wanted& wanted : drawn.transfers) {
      if (wanted.to != rank() || wanted.in_array != array) continue;
      const auto from = places_of(wanted.out);
      const auto to = places_of(wanted.in);
      for (std::size_t i = 0; i < from.size(); ++i)
        expected[static_cast<std::size_t>(to[i])] =
            value_of(wanted.from, wanted.out_array, from[i], round);
    }
    ASSERT_EQ(std::memcmp(expected.data(), arrays.values(array), expected.size() * sizeof(Value)),
              0)
        << "array " << array << ", round " << round;
  }
}

void check_reverse(const Drawn& drawn, Arrays& arrays, int round) {
  for (int array = 0; array < kSendArrays; ++array) {
    std::vector<Value> expected(static_cast<std::size_t>(arrays.length(array)), 3);
    for (const Wanted& wanted : drawn.transfers) {
      if (wanted.from != rank() || wanted.out_array != array) continue;
      const auto to = places_of(wanted.out);
      const auto from = places_of(wanted.in);
      for (std::size_t i = 0; i < from.size(); ++i)
        expected[static_cast<std::size_t>(to[i])] +=
            value_of(wanted.to, wanted.in_array, from[i], round);
    }
    ASSERT_EQ(std::memcmp(expected.data(), arrays.values(array), expected.size() * sizeof(Value)),
              0)
        << "array " << array << ", round " << round;
  }
}

TEST(Exchange, random_transfers_arrive_forward_and_back) {
  constexpr unsigned kSeed = 20261126;
  for (unsigned plan = 0; plan < 12; ++plan) {
    SCOPED_TRACE("seed " + std::to_string(kSeed + plan));
    const Drawn drawn = draw_transfers(kSeed + plan);
    Exchange exchange(MPI_COMM_WORLD, part_of(drawn));
    Draw own(kSeed + plan + 1000U * static_cast<unsigned>(rank()));
    std::vector<Arrays> sets;
    for (int set = 0; set < 2; ++set)
      sets.emplace_back(drawn.lengths[static_cast<std::size_t>(rank())]);
    for (int round = 0; round < 10; ++round) {
      Arrays& arrays = sets[static_cast<std::size_t>(round % 2)];
      if (round % 4 != 3) {
        for (int array = 0; array < kArrays; ++array) {
          if (array < kSendArrays) {
            arrays.fill(array, round);
          } else {
            arrays.fill_with(array, -7);
          }
        }
        exchange.start(arrays.bases());
        run(exchange, own);
        check_forward(drawn, arrays, round);
      } else {
        for (int array = 0; array < kArrays; ++array) {
          if (array < kSendArrays) {
            arrays.fill_with(array, 3);
          } else {
            arrays.fill(array, round);
          }
        }
        const Combine add = sum<Value>();
        exchange.start_reverse(arrays.bases(), std::span(&add, 1));
        run(exchange, own);
        check_reverse(drawn, arrays, round);
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Exchange, two_started_in_opposite_order_end) {
  if (ranks() < 2) GTEST_SKIP() << "needs two ranks";
  const auto ring = [](int tag) {
    ExchangePart part;
    part.array({}, 2 * kValue);
    part.send((rank() + 1) % ranks(), tag, 0, Layout::dense(kValue));
    part.receive((rank() + ranks() - 1) % ranks(), tag, 0, Layout::dense(kValue, kValue));
    return part;
  };
  Exchange one(MPI_COMM_WORLD, ring(1));
  Exchange two(MPI_COMM_WORLD, ring(2));
  for (int round = 0; round < 50; ++round) {
    Value a[] = {100 * rank() + round, -1};
    Value b[] = {-100 * rank() - round, -1};
    std::byte* const bases_a[] = {reinterpret_cast<std::byte*>(a)};
    std::byte* const bases_b[] = {reinterpret_cast<std::byte*>(b)};
    const bool first = rank() % 2 == 0;
    if (first) one.start(bases_a);
    two.start(bases_b);
    if (!first) one.start(bases_a);
    if (first) two.wait();
    one.wait();
    if (!first) two.wait();
    const int before = (rank() + ranks() - 1) % ranks();
    ASSERT_EQ(a[1], 100 * before + round);
    ASSERT_EQ(b[1], -100 * before - round);
  }
}

TEST(Exchange, one_way_is_held_up_by_who_is_late_and_loses_nothing) {
  if (ranks() < 2) GTEST_SKIP() << "needs two ranks";
  ExchangePart part;
  constexpr std::int64_t kCount = 30'000;
  part.array({}, kCount * kValue);
  if (rank() == 0) part.send(1, 0, 0, Layout::dense(kCount * kValue));
  if (rank() == 1) part.receive(0, 0, 0, Layout::dense(kCount * kValue));
  Exchange exchange(MPI_COMM_WORLD, part);
  std::vector<Value> own(kCount);
  SharedArray shared(kCount * kValue);
  for (int round = 0; round < 20; ++round) {
    const bool in_place = round % 3 == 0;
    auto* const values = in_place ? reinterpret_cast<Value*>(shared.data()) : own.data();
    if (rank() == 0) std::iota(values, values + kCount, round);
    std::byte* const bases[] = {reinterpret_cast<std::byte*>(values)};
    if (rank() == 1 && round % 5 == 0) usleep(20'000);
    exchange.start(bases);
    exchange.wait();
    if (rank() == 0) std::fill_n(values, kCount, -1);  // it may be changed now
    if (rank() != 1) continue;
    for (std::int64_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], round + i);
  }
}

/// This rank's neighbours in a ring, and an array that others can read.
struct Ring {
  static constexpr std::int64_t kCount = 40'000;
  int next = (rank() + 1) % ranks();
  int before = (rank() + ranks() - 1) % ranks();
  SharedArray array{2 * kCount * kValue};
  Exchange exchange = [this] {
    ExchangePart part;
    part.array({}, 2 * kCount * kValue);
    part.send(next, 0, 0, Layout::dense(kCount * kValue));
    part.receive(before, 0, 0, Layout::dense(kCount * kValue, kCount * kValue));
    return Exchange(MPI_COMM_WORLD, part);
  }();
  void start(Value value) {
    auto* const values = reinterpret_cast<Value*>(array.data());
    std::fill_n(values, kCount, value + rank());
    std::byte* const bases[] = {array.data()};
    exchange.start(bases);
  }
  void check(Value value) {
    const auto* const values = reinterpret_cast<const Value*>(array.data());
    for (std::int64_t i = kCount; i < 2 * kCount; ++i) ASSERT_EQ(values[i], value + before);
  }
};

TEST(Exchange, a_wait_moves_what_else_has_begun) {
  Ring a, b;
  for (Value round = 0; round < 20; ++round) {
    a.start(round);
    b.start(round + 50);
    if (rank() == 0) usleep(1000);
    Ring& first = rank() % 2 == 0 ? a : b;
    Ring& second = rank() % 2 == 0 ? b : a;
    first.exchange.wait();
    second.exchange.wait();
    EXPECT_FALSE(a.exchange.running());
    a.check(round);
    b.check(round + 50);
  }
}

TEST(Exchange, who_has_all_it_needs_waits_for_nobody) {
  Ring ring;
  for (Value round = 0; round < 10; ++round) {
    ring.start(round);
    int token = rank() == 0 ? 1 : 0;
    // Each rank but the first goes on only after the one before it has ended its wait.
    if (rank() != 0) {
      MPI_Recv(&token, 1, MPI_INT, rank() - 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    ring.exchange.wait();
    ring.check(round);
    if (rank() + 1 < ranks()) MPI_Send(&token, 1, MPI_INT, rank() + 1, 9, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST(Exchange, replace_min_and_max_go_back) {
  ExchangePart part;
  part.array({}, 3 * kValue);
  const int next = (rank() + 1) % ranks();
  const int before = (rank() + ranks() - 1) % ranks();
  part.send(next, 0, 0, Layout::dense(kValue));
  part.receive(before, 0, 0, Layout::dense(kValue, kValue));
  Exchange exchange(MPI_COMM_WORLD, part);
  const auto back = [&](Value mine, Value ghost, const Combine& combine) {
    Value values[] = {mine, ghost, 77};
    std::byte* const bases[] = {reinterpret_cast<std::byte*>(values)};
    exchange.start_reverse(bases, std::span(&combine, 1));
    exchange.wait();
    EXPECT_EQ(values[1], ghost);
    EXPECT_EQ(values[2], 77);
    return values[0];
  };
  EXPECT_EQ(back(5, 10 + rank(), replace()), 10 + next);
  EXPECT_EQ(back(12, 10 + rank(), min<Value>()), std::min(12, 10 + next));
  EXPECT_EQ(back(12, 10 + rank(), max<Value>()), std::max(12, 10 + next));
}

std::string refusal(const ExchangePart& part) {
  return refusal_on_all([&] { const Exchange exchange(MPI_COMM_WORLD, part); });
}

TEST(Exchange, a_part_that_is_wrong_is_told_on_all_ranks) {
  const int last = ranks() - 1;
  ExchangePart part;
  part.array({}, 10);
  if (rank() == last) part.send(0, 3, 0, Layout::dense(11), "rho, direction +x");
  EXPECT_EQ(refusal(part), "rank " + std::to_string(last) +
                               ": the transfer to rank 0, rho, direction +x (tag 3): bytes 0 to 11 "
                               "of array 0, which has 10");
  ExchangePart before;
  before.array();
  if (rank() == last) before.receive(0, 3, 0, Layout::dense(8, -16));
  EXPECT_EQ(refusal(before),
            "rank " + std::to_string(last) +
                ": the transfer from rank 0, tag 3: bytes -16 to -8 of array 0 begin before the "
                "array");
  ExchangePart peer;
  peer.array();
  if (rank() == last) peer.receive(99, 3, 0, Layout::dense(1));
  EXPECT_EQ(refusal(peer), "rank " + std::to_string(last) +
                               ": the transfer from rank 99, tag 3: there are " +
                               std::to_string(ranks()) + " ranks");
  ExchangePart array;
  if (rank() == last) array.receive(0, 3, 2, Layout::dense(1));
  EXPECT_EQ(refusal(array), "rank " + std::to_string(last) +
                                ": the transfer from rank 0, tag 3: there is no array 2, only 0");
}

TEST(Exchange, two_that_do_not_fit_are_told_on_all_ranks) {
  const int last = ranks() - 1;
  const std::string to = std::to_string(last);
  const auto both = [&](std::int64_t out, int out_tag, std::int64_t in, int in_tag) {
    ExchangePart part;
    part.array();
    if (rank() == 0 && out != 0) part.send(last, out_tag, 0, Layout::dense(out));
    if (rank() == last && in != 0) part.receive(0, in_tag, 0, Layout::dense(in, 1000));
    return refusal(part);
  };
  EXPECT_EQ(both(8, 1, 12, 1), "rank 0 sends rank " + to + " 8 bytes, tag 1, which receives 12");
  const std::string none =
      "rank 0 sends rank " + to + " 8 bytes, tag 1, which receives none of that tag, ";
  EXPECT_EQ(both(8, 1, 8, 2), none + "but of tag 2");
  EXPECT_EQ(both(8, 1, 0, 0), none + "nor of any other");
  const std::string lonely = both(0, 0, 8, 1);
  EXPECT_NE(lonely.find("none of that tag"), std::string::npos) << lonely;
  EXPECT_EQ(both(8, 1, 8, 1), "");
  const auto several = [&](int out_tag, int more, int first, int count) {
    ExchangePart part;
    part.array();
    for (int i = 0; rank() == 0 && i < more; ++i) part.send(last, out_tag, 0, Layout::dense(8));
    for (int tag = first; rank() == last && tag < first + count; ++tag)
      part.receive(0, tag, 0, Layout::dense(8, 1000 + 8 * tag));
    return refusal(part);
  };
  EXPECT_EQ(several(1, 1, 3, 7), none + "but of tag 3, 4, 5, 6, 7 and 2 more");
  EXPECT_EQ(several(1, 2, 1, 1),
            "rank 0 sends rank " + to + " 8 bytes, tag 1, which receives no more of that tag");
}

TEST(Exchange, bytes_that_are_received_and_touched_by_another_transfer_are_refused) {
  const int next = (rank() + 1) % ranks();
  const int before = (rank() + ranks() - 1) % ranks();
  // All ranks have the fault, and that of rank 0 is told.
  const std::string from = "received from rank " + std::to_string(ranks() - 1) + ", ";
  const std::string rho_comes = from + "rho (tag 1)";
  const std::string rho_goes = "sent to rank " + std::to_string(1 % ranks()) + ", rho (tag 1)";
  const auto told = [&](int byte, const std::string& other) {
    return "rank 0: byte " + std::to_string(byte) + " of array 1 is " + rho_comes + ", and " +
           other;
  };
  const auto both = [&](const Layout& sent, const Layout& received, const Layout& also) {
    ExchangePart part;
    part.array();
    part.array();
    part.send(next, 1, 1, sent, "rho");
    part.receive(before, 1, 1, received, "rho");
    part.send(next, 2, 0, Layout::dense(also.size_bytes()));
    part.receive(before, 2, 1, also);
    return refusal(part);
  };
  EXPECT_EQ(both(Layout::dense(8), Layout::dense(8, 8), Layout::dense(4, 16)), "");
  EXPECT_EQ(both(Layout::dense(8), Layout::dense(8, 7), Layout::dense(4, 16)), told(7, rho_goes));
  EXPECT_EQ(both(Layout::dense(8), Layout::dense(8, 8), Layout::dense(4, 15)),
            told(15, from + "tag 2"));
  // Every second value is sent, and every other received: bounds meet, bytes don't.
  const Dim every_second[] = {{8, 8}};
  const Layout even = Layout::box(0, 4, every_second);
  const Layout odd = Layout::box(4, 4, every_second);
  EXPECT_EQ(both(even, odd, Layout::dense(4, 64)), "");
  const std::int64_t places[] = {68, 60, 4, 12, 20, 28, 36, 40};
  EXPECT_EQ(both(even, Layout::blocks(places, 4), Layout::dense(4, 72)), told(40, rho_goes));
}

TEST(Exchange, bytes_may_be_sent_several_times) {
  ExchangePart part;
  const int array = part.array();
  const int next = (rank() + 1) % ranks();
  const int before = (rank() + ranks() - 1) % ranks();
  for (int tag = 0; tag < 3; ++tag) {
    part.send(next, tag, array, Layout::dense(2 * kValue));
    part.receive(before, tag, array, Layout::dense(2 * kValue, 2 * kValue * (tag + 1)));
  }
  Exchange exchange(MPI_COMM_WORLD, part);
  std::array<Value, 8> values{rank() + 1, rank() + 2};
  std::byte* const bases[] = {reinterpret_cast<std::byte*>(values.data())};
  exchange.start(bases);
  exchange.wait();
  for (std::size_t i = 2; i < values.size(); ++i)
    EXPECT_EQ(values[i], before + 1 + static_cast<Value>(i % 2));
}

TEST(Exchange, transfers_of_no_bytes_end) {
  ExchangePart part;
  part.array();
  part.send((rank() + 1) % ranks(), 0, 0, Layout());
  part.receive((rank() + ranks() - 1) % ranks(), 0, 0, Layout());
  Exchange exchange(MPI_COMM_WORLD, part);
  Value value = 0;
  std::byte* const bases[] = {reinterpret_cast<std::byte*>(&value)};
  exchange.start(bases);
  exchange.wait();
}

TEST(Exchange, starts_that_are_wrong_are_refused) {
  ExchangePart part;
  part.array();
  Exchange exchange(MPI_COMM_WORLD, part);
  EXPECT_THROW(exchange.start({}), InvalidArgument);
  Value value = 0;
  std::byte* const bases[] = {reinterpret_cast<std::byte*>(&value)};
  EXPECT_THROW(exchange.start_reverse(bases, std::span<const Combine>()), InvalidArgument);
  exchange.start(bases);
  EXPECT_THROW(exchange.start(bases), InvalidArgument);
  exchange.wait();
  EXPECT_TRUE(exchange.test());
  Exchange none;
  EXPECT_THROW(none.start(bases), InvalidArgument);
  EXPECT_TRUE(none.test());
}

TEST(Exchange, tells_its_plan) {
  ExchangePart part;
  part.array();
  part.send((rank() + 1) % ranks(), 0, 0, Layout::dense(640));
  part.receive((rank() + ranks() - 1) % ranks(), 0, 0, Layout::dense(640, 640));
  const Exchange exchange(MPI_COMM_WORLD, part);
  EXPECT_EQ(exchange.bytes_sent(), 640);
  EXPECT_NE(exchange.plan().find("640 bytes"), std::string::npos) << exchange.plan();
}

TEST(Exchange, short_blocks_are_packed_unless_direct_is_forced) {
  const bool direct = is_forced("direct");
  ExchangePart part;
  part.array();
  for (int other = 0; other < ranks(); ++other) {
    part.send(other, 0, 0, Layout::dense(8));
    part.receive(other, 0, 0, Layout::dense(8, 8 * (other + 1)));
  }
  const Exchange exchange(MPI_COMM_WORLD, part);
  ASSERT_EQ(static_cast<int>(exchange.peers().size()), ranks());
  for (const Exchange::PeerPlan& peer : exchange.peers())
    EXPECT_EQ(peer.transport, peer.rank == rank()               ? "self"
                              : !on_one_node(peer.rank, rank()) ? "pack"
                              : direct                          ? "direct"
                                                                : "shared")
        << peer.rank;
  if (direct) {
    EXPECT_EQ(exchange.plan().find(" 8 are packed"), std::string::npos) << exchange.plan();
  }
}

TEST(Exchange, arrays_in_pages_that_no_memory_has_are_refused) {
  EXPECT_EQ(SharedArray(100, {}, 1 << 20).size_bytes(), 100);
  EXPECT_THROW(SharedArray(1 << 20, {}, 5000), InvalidArgument);
  EXPECT_THROW(SharedArray(1 << 20, {}, 512), InvalidArgument);
  EXPECT_THROW(SharedArray(1 << 20, {}, std::int64_t{1} << 40), InvalidArgument);
  EXPECT_THROW(SharedArray(1 << 20, {}, -4096), InvalidArgument);
  EXPECT_THROW(SharedArray(1 << 20, {MemoryKind::Device}, 2 << 20), InvalidArgument);
}

TEST(Exchange, tells_of_each_peer_how_its_bytes_went) {
  constexpr std::int64_t kBytes = 64 << 10;
  ExchangePart part;
  part.array({}, 2 * kBytes);
  const int next = (rank() + 1) % ranks();
  part.send(next, 0, 0, Layout::dense(kBytes));
  part.receive((rank() + ranks() - 1) % ranks(), 0, 0, Layout::dense(kBytes, kBytes));
  Exchange exchange(MPI_COMM_WORLD, part);
  const SharedArray shared(2 * kBytes);
  std::vector<std::byte> own(2 * kBytes);
  const auto transport = [&] {
    for (const Exchange::PeerPlan& peer : exchange.peers())
      if (peer.rank == next) return peer.transport;
    return std::string();
  };
  const auto transport_by = [&](std::byte* array) {
    exchange.start(std::span(&array, 1));
    exchange.wait();
    return transport();
  };
  const bool near = on_one_node(next, rank());
  const char* const packed = next == rank() ? "self" : near ? "shared" : "pack";
  EXPECT_EQ(transport_by(own.data()), packed);
  std::byte* const array = own.data();
  const Combine none;
  exchange.start_reverse(std::span(&array, 1), std::span(&none, 1));
  exchange.wait();
  EXPECT_EQ(transport(), packed);  // of what was sent forward
  // A reader that is late gets packed bytes from a shared array, too.
  const std::string when_shared = transport_by(shared.data());
  EXPECT_TRUE(when_shared == "direct" || when_shared == packed) << when_shared;
  if (is_forced("pack") || is_forced("shared") || !near || next == rank()) {
    EXPECT_EQ(when_shared, packed);
  }
}

}  // namespace
}  // namespace strake
