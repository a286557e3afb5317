// Planned exchanges between devices, whose ranks run ahead of each other, use different streams,
// and end them in different ways.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "graph.hpp"
#include "place.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"
#include "strake/exchange.hpp"
#include "world.hpp"

namespace strake {
namespace {

using Value = std::int64_t;
constexpr std::int64_t kValue = sizeof(Value);

class Memory {
 public:
  explicit Memory(std::int64_t values)
      : data_(static_cast<std::byte*>(
            test_memory::allocate(static_cast<std::size_t>(values * kValue)))) {}
  ~Memory() { test_memory::release(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  void set(const std::vector<Value>& values) const {
    test_memory::copy(data_, values.data(), values.size() * sizeof(Value));
  }
  [[nodiscard]] std::vector<Value> get(std::int64_t count) const {
    std::vector<Value> values(static_cast<std::size_t>(count));
    test_memory::copy(values.data(), data_, values.size() * sizeof(Value));
    return values;
  }

 private:
  std::byte* data_;
};

/// This rank's neighbours in a ring, to which every second value goes.
struct PutRing {
  explicit PutRing(std::int64_t values) : count(values) {
    ExchangePart part;
    part.array(place(), 3 * count * kValue);
    const Dim every_second[] = {{count, 2 * kValue}};
    part.send(next, 0, 0, Layout::box(0, kValue, every_second));
    part.receive(before, 0, 0, Layout::dense(count * kValue, 2 * count * kValue));
    exchange = Exchange(MPI_COMM_WORLD, part);
  }
  /// The value number `i` that rank `of` sends in a round.
  [[nodiscard]] Value value(int of, int round, std::int64_t i) const {
    return (static_cast<Value>(of) * 1000 + round) * count + i;
  }
  [[nodiscard]] std::vector<Value> filled(int round) const {
    std::vector<Value> values(static_cast<std::size_t>(3 * count), -1);
    for (std::int64_t i = 0; i < count; ++i)
      values[static_cast<std::size_t>(2 * i)] = value(rank(), round, i);
    return values;
  }
  [[nodiscard]] std::vector<Value> received(int round) const {
    std::vector<Value> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(value(before, round, i));
    return values;
  }

  std::int64_t count;
  int next = (rank() + 1) % ranks();
  int before = (rank() + ranks() - 1) % ranks();
  Exchange exchange;
};

std::vector<Value> tail(const std::vector<Value>& values, std::int64_t count) {
  return {values.end() - count, values.end()};
}

TEST(DevicePut, rounds_of_any_kind_follow_each_other) {
  for (const std::int64_t count : {10, 100'000}) {
    PutRing ring(count);
    std::mt19937 draw(static_cast<unsigned>(rank()));
    std::array<Stream, 2> streams{Stream::make(place().device), Stream::make(place().device)};
    const Memory memories[] = {Memory(3 * count), Memory(3 * count)};
    for (int round = 0; round < 40; ++round) {
      const Memory& memory = memories[draw() % 2];
      std::byte* const bases[] = {memory.data()};
      memory.set(ring.filled(round));
      if (draw() % 4 == 0) usleep(draw() % 3000);
      Stream& stream = streams[draw() % 2];
      switch (draw() % 4) {
        case 0:
          ring.exchange.start(bases);
          while (!ring.exchange.test()) {
          }
          break;
        case 1:
          ring.exchange.start(bases, stream);
          ring.exchange.wait();
          break;
        case 2:
          ring.exchange.start(bases, stream);
          if (draw() % 2 == 0) (void)ring.exchange.test();
          ring.exchange.wait(stream);
          break;
        default:
          ring.exchange.enqueue(bases, stream);
      }
      EXPECT_FALSE(ring.exchange.running());
      stream.synchronize();
      ASSERT_EQ(tail(memory.get(3 * count), count), ring.received(round)) << "round " << round;
    }
  }
}

/// Rounds whose values are set and kept by copies in the same stream.
class Series {
 public:
  Series(const PutRing& ring, int rounds)
      : ring_(ring),
        rounds_(rounds),
        source_(3 * ring.count * rounds),
        array_(3 * ring.count),
        kept_(ring.count * rounds),
        set_(CopyPlan::compile(dense(3), place(), dense(3), place())),
        keep_(CopyPlan::compile(dense(1), place(), dense(1), place())) {
    std::vector<Value> all;
    for (int round = 0; round < rounds; ++round) {
      const std::vector<Value> values = ring.filled(round);
      all.insert(all.end(), values.begin(), values.end());
    }
    source_.set(all);
  }
  void enqueue(Exchange& exchange, Stream& stream, int round) {
    const std::int64_t bytes = ring_.count * kValue;
    std::byte* const bases[] = {array_.data()};
    set_.enqueue(stream, array_.data(), source_.data() + 3 * bytes * round);
    exchange.enqueue(bases, stream);
    keep_.enqueue(stream, kept_.data() + bytes * round, array_.data() + 2 * bytes);
  }
  void check() const {
    const std::vector<Value> kept = kept_.get(ring_.count * rounds_);
    for (int round = 0; round < rounds_; ++round) {
      const auto begin = kept.begin() + ring_.count * round;
      ASSERT_EQ(std::vector<Value>(begin, begin + ring_.count), ring_.received(round))
          << "round " << round;
    }
  }

 private:
  [[nodiscard]] Layout dense(int times) const {
    return Layout::dense(times * ring_.count * kValue);
  }

  const PutRing& ring_;
  int rounds_;
  Memory source_, array_, kept_;
  CopyPlan set_, keep_;
};

TEST(DevicePut, a_rank_that_is_ahead_overwrites_nothing_that_is_still_read) {
  constexpr int kRounds = 50;
  for (const std::int64_t count : {7, 20'000}) {
    PutRing ring(count);
    Series series(ring, kRounds);
    Stream stream = Stream::make(place().device);
    std::mt19937 draw(static_cast<unsigned>(rank() + 7));
    for (int round = 0; round < kRounds; ++round) {
      // Another rank is late in each round.
      if (round % ranks() == rank() && draw() % 2 == 0) usleep(draw() % 2000);
      series.enqueue(ring.exchange, stream, round);
    }
    stream.synchronize();
    series.check();
  }
}

TEST(DevicePut, what_takes_a_cpu_is_not_captured) {
  PutRing ring(5);
  if (can_be_captured(ring.exchange.plan())) GTEST_SKIP();
  const Memory memory(15);
  memory.set(ring.filled(3));
  std::byte* const bases[] = {memory.data()};
  Stream stream = Stream::make(place().device);
  (void)CapturedGraph::capture(stream, [&] {
    EXPECT_THROW(ring.exchange.enqueue(bases, stream), Unsupported);
    EXPECT_THROW(ring.exchange.start(bases, stream), Unsupported);
    EXPECT_FALSE(ring.exchange.running());
  });
  // Nothing was done.
  ring.exchange.enqueue(bases, stream);
  stream.synchronize();
  EXPECT_EQ(tail(memory.get(15), 5), ring.received(3));
}

/// Whether devices wait for each other, not hosts: on all ranks.
bool devices_wait(const PutRing& ring) {
  std::vector<int> devices(static_cast<std::size_t>(ranks()));
  const int own = place().device;
  MPI_Allgather(&own, 1, MPI_INT, devices.data(), 1, MPI_INT, MPI_COMM_WORLD);
  int alone = static_cast<int>(is_devices_alone(ring.exchange.plan()) &&
                               ring.exchange.plan().find("one-shot:") == std::string::npos &&
                               ranks() % 2 == 0);
  for (int i = 0; i < ranks(); ++i)
    if (devices[static_cast<std::size_t>(i)] ==
        devices[static_cast<std::size_t>((i + 1) % ranks())])
      alone = 0;
  MPI_Allreduce(MPI_IN_PLACE, &alone, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return alone != 0;
}

/// Two exchanges among the same ranks, which every second rank begins in the other order.
struct TwoRings {
  void set(int round) const {
    a.set(one.filled(round));
    b.set(two.filled(round + 100));
  }
  /// \param start  of an exchange, its addresses, and its number
  template <typename Start>
  void start_in_opposite_order(const Start& start) {
    std::byte* const bases_a[] = {a.data()};
    std::byte* const bases_b[] = {b.data()};
    if (even) start(one.exchange, bases_a, 0U);
    start(two.exchange, bases_b, 1U);
    if (!even) start(one.exchange, bases_a, 0U);
  }

  bool even = rank() % 2 == 0;
  PutRing one{1000}, two{1000};
  Memory a{3000}, b{3000};
};

TEST(DevicePut, streams_of_exchanges_in_opposite_order_go_on) {
  TwoRings rings;
  if (!devices_wait(rings.one)) GTEST_SKIP();
  std::array<Stream, 2> streams{Stream::make(place().device), Stream::make(place().device)};
  for (int round = 0; round < 10; ++round) {
    rings.set(round);
    rings.start_in_opposite_order([&](Exchange& exchange, const auto& bases, std::size_t number) {
      exchange.enqueue(bases, streams[number]);
    });
    for (const Stream& stream : streams) stream.synchronize();
    ASSERT_EQ(tail(rings.a.get(3000), 1000), rings.one.received(round));
    ASSERT_EQ(tail(rings.b.get(3000), 1000), rings.two.received(round + 100));
  }
}

TEST(DevicePut, graphs_exchange_at_each_launch) {
  constexpr int kRounds = 12;
  for (const std::int64_t count : {7, 200'000}) {
    PutRing ring(count);
    if (!can_be_captured(ring.exchange.plan())) GTEST_SKIP();
    Series series(ring, kRounds);
    Stream stream = Stream::make(place().device);
    const auto graph = CapturedGraph::capture(stream, [&] {
      for (int round = 0; round < kRounds; ++round) series.enqueue(ring.exchange, stream, round);
    });
    if (graph == nullptr) GTEST_SKIP() << "this device has no graphs";
    for (int launch = 0; launch < 5; ++launch) {
      if (launch == rank()) usleep(2000);
      graph->launch(stream);
      if (launch % 2 == 0) continue;
      // Rounds that are no part of it come in between.
      series.enqueue(ring.exchange, stream, 0);
    }
    stream.synchronize();
    series.check();
  }
}

TEST(DevicePut, a_graph_can_start_and_wait_apart) {
  PutRing ring(300);
  if (!can_be_captured(ring.exchange.plan())) GTEST_SKIP();
  const Memory memory(900);
  memory.set(ring.filled(5));
  std::byte* const bases[] = {memory.data()};
  Stream stream = Stream::make(place().device);
  const auto graph = CapturedGraph::capture(stream, [&] {
    ring.exchange.start(bases, stream);
    EXPECT_THROW((void)ring.exchange.test(), Unsupported);
    ring.exchange.wait(stream);
  });
  if (graph == nullptr) GTEST_SKIP() << "this device has no graphs";
  graph->launch(stream);
  graph->launch(stream);
  stream.synchronize();
  EXPECT_EQ(tail(memory.get(900), 300), ring.received(5));
}

TEST(DevicePut, starts_in_opposite_order_and_calls_that_wait_for_the_device_end) {
  TwoRings rings;
  const bool even = rings.even;
  Stream stream = Stream::make(place().device);
  for (int round = 0; round < 10; ++round) {
    rings.set(round);
    rings.start_in_opposite_order(
        [&](Exchange& exchange, const auto& bases, std::size_t) { exchange.start(bases, stream); });
    // This frees memory of the device, and so waits for its work, before others start.
    if (even) {
      const Memory freed(10);
    }
    int token = 0;
    if (even && rank() + 1 < ranks()) MPI_Send(&token, 1, MPI_INT, rank() + 1, 3, MPI_COMM_WORLD);
    if (!even) MPI_Recv(&token, 1, MPI_INT, rank() - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    Exchange& first = even ? rings.two.exchange : rings.one.exchange;
    Exchange& second = even ? rings.one.exchange : rings.two.exchange;
    if (round % 2 == 0) {
      first.wait();
      second.wait();
    } else {
      first.wait(stream);
      second.wait(stream);
      stream.synchronize();
    }
    ASSERT_EQ(tail(rings.a.get(3000), 1000), rings.one.received(round));
    ASSERT_EQ(tail(rings.b.get(3000), 1000), rings.two.received(round + 100));
  }
}

TEST(DevicePut, the_plan_tells_the_transport) {
  if (ranks() == 1) GTEST_SKIP();
  const PutRing ring(3);
  const std::string transport = device_transport();
  const char* const setting = std::getenv("STRAKE_GPU_AWARE");
  const bool aware = setting != nullptr && std::string(setting) == "yes";
  for (const Exchange::PeerPlan& peer : ring.exchange.peers()) {
    const bool near = on_one_node(peer.rank, rank());
    EXPECT_EQ(peer.transport, near ? transport : aware ? "device" : "one-shot");
  }
  // Measurements decide, or nothing was measured, or there is no choice.
  const std::string plan = ring.exchange.plan();
  if (std::getenv("TEST_METHOD") != nullptr) {
    EXPECT_NE(plan.find("; the soonest by this machine's profile: " + transport + " "),
              std::string::npos)
        << plan;
  } else if (std::getenv("STRAKE_METHOD") == nullptr && ranks_per_node() > 1 &&
             std::getenv("STANDIN_NO_SHARING") == nullptr) {
    EXPECT_NE(plan.find("; by a built-in rule"), std::string::npos) << plan;
  }
}

TEST(DevicePut, the_plan_tells_how_the_last_round_went) {
  PutRing ring(1000);
  EXPECT_EQ(ring.exchange.plan().find("last round"), std::string::npos);
  const Memory memory(3000);
  std::byte* const bases[] = {memory.data()};
  ring.exchange.start(bases);
  ring.exchange.wait();
  if (!is_devices_alone(ring.exchange.plan())) return;
  const std::string plan = ring.exchange.plan();
  const std::size_t at = plan.find("last round: ");
  ASSERT_NE(at, std::string::npos) << plan;
  double put = 0, seen = 0, ended = 0;
  if (ranks() > 1) {
    ASSERT_EQ(std::sscanf(plan.c_str() + at,
                          "last round: put by %lf us, all had come by %lf, ended at %lf us", &put,
                          &seen, &ended),
              3)
        << plan;
    EXPECT_LE(0, put);
    EXPECT_LE(put, ended);
    EXPECT_LE(seen, ended);
  } else {
    ASSERT_EQ(std::sscanf(plan.c_str() + at, "last round: ended at %lf us", &ended), 1) << plan;
  }
  EXPECT_LT(ended, 60e6);
}

/// Profiles are made up for these tests (CMakeLists.txt).
TEST(DevicePut, the_plan_predicts_a_round_where_the_machine_was_measured) {
  const PutRing ring(3);
  const std::string plan = ring.exchange.plan();
  const std::size_t at = plan.find("predicted: ");
  const std::string transport = device_transport();
  if (std::getenv("TEST_METHOD") == nullptr || transport == "staged" || !is_devices_alone(plan)) {
    EXPECT_EQ(at, std::string::npos) << plan;
    return;
  }
  double all = 0, most = 0;
  ASSERT_NE(at, std::string::npos) << plan;
  ASSERT_EQ(std::sscanf(plan.c_str() + at,
                        "predicted: %lf us with a launch and a wait, %lf of them a ", &all, &most),
            2)
      << plan;
  EXPECT_LT(0, most);
  EXPECT_LE(most, all);
  EXPECT_LT(all, 1e6);
}

TEST(DevicePut, many_exchanges_go_the_same_way) {
  std::vector<PutRing> rings;
  for (int i = 0; i < 100; ++i) rings.emplace_back(4);
  const Memory memory(12);
  std::byte* const bases[] = {memory.data()};
  for (std::size_t i = 0; i < rings.size(); i += 29) {
    memory.set(rings[i].filled(static_cast<int>(i)));
    rings[i].exchange.start(bases);
    rings[i].exchange.wait();
    ASSERT_EQ(tail(memory.get(12), 4), rings[i].received(static_cast<int>(i)));
  }
  const auto first = rings.front().exchange.peers();
  for (const PutRing& ring : rings) {
    const auto peers = ring.exchange.peers();
    ASSERT_EQ(peers.size(), first.size());
    for (std::size_t i = 0; i < peers.size(); ++i)
      EXPECT_EQ(peers[i].transport, first[i].transport);
  }
}

TEST(DevicePut, values_go_back_in_one_way_after_the_other) {
  PutRing ring(50);
  if (!is_devices_alone(ring.exchange.plan())) GTEST_SKIP();
  const Memory memory(150);
  std::vector<Value> values(150, 7);
  for (std::int64_t i = 100; i < 150; ++i) values[static_cast<std::size_t>(i)] = rank() + i;
  memory.set(values);
  std::byte* const bases[] = {memory.data()};
  Stream stream = Stream::make(place().device);
  for (const Combine& combine : {sum<Value>(), max<Value>(), sum<Value>()}) {
    ring.exchange.start_reverse(bases, std::span(&combine, 1));
    ring.exchange.wait(stream);
  }
  stream.synchronize();
  const std::vector<Value> now = memory.get(150);
  for (std::int64_t i = 0; i < 50; ++i) {
    const Value came = ring.next + 100 + i;
    ASSERT_EQ(now[static_cast<std::size_t>(2 * i)], std::max(7 + came, came) + came);
    ASSERT_EQ(now[static_cast<std::size_t>(2 * i + 1)], 7);
  }
}

TEST(DevicePut, who_has_given_up_is_told_of) {
  if (ranks() == 1) GTEST_SKIP();
  PutRing ring(4);
  if (rank() == 0) ring.exchange.give_up();
  MPI_Barrier(MPI_COMM_WORLD);
  // The others wait for one that goes on.
  if (rank() == 0 || ring.before != 0) return;
  const Memory memory(12);
  std::byte* const bases[] = {memory.data()};
  Stream stream = Stream::make(place().device);
  EXPECT_THROW(ring.exchange.enqueue(bases, stream), Error);
  EXPECT_THROW(ring.exchange.start(bases), Error);
}

TEST(DevicePut, streams_of_elsewhere_are_refused) {
  PutRing ring(3);
  const Memory memory(9);
  std::byte* const bases[] = {memory.data()};
  Stream cpu;
  EXPECT_THROW(ring.exchange.start(bases, cpu), InvalidArgument);
  EXPECT_THROW(ring.exchange.enqueue(bases, cpu), InvalidArgument);
  Value host[9] = {};
  std::byte* const elsewhere[] = {reinterpret_cast<std::byte*>(host)};
  Stream stream = Stream::make(place().device);
  EXPECT_THROW(ring.exchange.enqueue(elsewhere, stream), InvalidArgument);
  ring.exchange.start(bases, stream);
  EXPECT_THROW(ring.exchange.enqueue(bases, stream), InvalidArgument);
  EXPECT_THROW(ring.exchange.wait(cpu), InvalidArgument);
  ring.exchange.wait(stream);
  stream.synchronize();
}

}  // namespace
}  // namespace strake
