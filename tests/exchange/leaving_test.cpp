// Ranks that take part in a planned exchange, or a grid, no longer: the others are told which, in
// whatever way they wait.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "place.hpp"
#include "strake/error.hpp"
#include "strake/exchange.hpp"
#include "strake/grid.hpp"
#include "world.hpp"

namespace strake {
namespace {

constexpr int kGoodRounds = 3;
constexpr std::int64_t kBlock = 96 << 10;

std::string named(int rank) { return "rank " + std::to_string(rank); }

/// An exchange of all ranks: block 0 goes to all peers; bytes from rank r arrive in block r + 1.
struct Everybody {
  explicit Everybody(const std::function<bool(int, int)>& sends = [](int, int) { return true; }) {
    ExchangePart part;
    part.array(place(), memory.size_bytes());
    for (int other = 0; other < ranks(); ++other) {
      if (other == rank()) continue;
      if (sends(rank(), other)) part.send(other, 0, 0, Layout::dense(kBlock));
      if (sends(other, rank()))
        part.receive(other, 0, 0, Layout::dense(kBlock, (other + 1) * kBlock));
    }
    exchange = Exchange(MPI_COMM_WORLD, part);
  }
  void start(int round) {
    const std::vector<char> values(kBlock, value(rank(), round));
    copy(memory.data(), values.data());
    std::byte* const bases[] = {memory.data()};
    exchange.start(bases);
  }
  [[nodiscard]] bool has_come_from(int other, int round) const {
    std::vector<char> values(kBlock);
    copy(values.data(), memory.data() + (other + 1) * kBlock);
    return values == std::vector<char>(kBlock, value(other, round));
  }
  [[nodiscard]] bool has_come(int round) const {
    for (int other = 0; other < ranks(); ++other)
      if (other != rank() && !has_come_from(other, round)) return false;
    return true;
  }
  static char value(int of, int round) { return static_cast<char>(16 * round + of); }
  static void copy(void* to, const void* from) {
    if (test_memory::on_device()) {
      test_memory::copy(to, from, kBlock);
    } else {
      std::memcpy(to, from, kBlock);
    }
  }

  SharedArray memory{(ranks() + 1) * kBlock, place()};
  Exchange exchange;
};

enum class Way { Wait, Test, SlowTest };
void PrintTo(Way way, std::ostream* out) {
  *out << (way == Way::Wait ? "wait" : way == Way::Test ? "test" : "slow test");
}
void finish(Exchange& exchange, Way way) {
  if (way == Way::Wait) return exchange.wait();
  while (!exchange.test())
    if (way == Way::SlowTest) usleep(20'000);
}

/// Returns the error that `steps` throws, and expects it soon: the last step waits in vain.
std::string thrown_by(const std::function<void()>& steps) {
  const auto begin = std::chrono::steady_clock::now();
  std::string text;
  try {
    steps();
  } catch (const Error& error) {
    text = error.what();
  }
  constexpr std::chrono::seconds kSoon{10};  // a second, on a machine that does more than it can
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kSoon);
  return text;
}

/// The culprit is named, by whoever is told first.
void expect_named(const std::string& text, const std::string& what) {
  EXPECT_NE(text.find(named(culprit()) + " has " + what), std::string::npos)
      << named(rank()) << " was told '" << text << "'";
}
/// The culprit has thrown in a round: it gives the exchange up, unless all of the round's bytes had
/// moved by then, and it leaves.
void expect_named_in_a_round(const std::string& text) {
  const bool has_left = text.find(named(culprit()) + " has left") != std::string::npos;
  expect_named(text, has_left ? "left" : "given");
}
/// As expect_named(), in full where the culprit alone could have said it.
void expect_left_after(const std::string& text, int rounds) {
  expect_named(text, "left");
  if (ranks() == 2 && !test_memory::on_device()) {
    EXPECT_EQ(text, named(culprit()) + " has left the exchange after " + std::to_string(rounds) +
                        " rounds; rank 0 waits for it in round " + std::to_string(rounds + 1));
  }
}

/// Some rounds, which all end, and one more.
void run(Everybody& all, Way way, int rounds) {
  for (int round = 1; round <= rounds; ++round) {
    all.start(round);
    finish(all.exchange, way);
    if (round <= kGoodRounds) {
      ASSERT_TRUE(all.has_come(round)) << round;
    }
  }
}

class Leaving : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (ranks() == 1) GTEST_SKIP() << "no other rank";
  }
};

TEST_P(Leaving, who_throws_between_two_rounds_is_named) {
  auto all = std::make_unique<Everybody>();
  if (rank() == culprit()) {
    try {
      const std::unique_ptr<Everybody> own = std::move(all);
      run(*own, GetParam(), kGoodRounds);
      usleep(20'000);
      throw std::runtime_error("the program's");
    } catch (const std::runtime_error&) {
      return;
    }
  }
  expect_left_after(thrown_by([&] { run(*all, GetParam(), kGoodRounds + 1); }), kGoodRounds);
}

TEST_P(Leaving, who_throws_in_a_round_is_named_and_does_not_wait) {
  auto all = std::make_unique<Everybody>();
  if (rank() == culprit()) {
    try {
      const std::unique_ptr<Everybody> own = std::move(all);
      run(*own, GetParam(), kGoodRounds);
      own->start(kGoodRounds + 1);
      throw std::runtime_error("the program's");
    } catch (const std::runtime_error&) {
      return;
    }
  }
  // The culprit's bytes of that round may have arrived.
  expect_named_in_a_round(thrown_by([&] { run(*all, GetParam(), kGoodRounds + 2); }));
}

TEST_P(Leaving, who_destroys_its_exchange_too_early_is_named) {
  Everybody all;
  if (rank() == culprit()) {
    run(all, GetParam(), kGoodRounds);
    usleep(20'000);
    all.exchange = Exchange();
  } else {
    expect_left_after(thrown_by([&] { run(all, GetParam(), kGoodRounds + 1); }), kGoodRounds);
  }
}

TEST_P(Leaving, who_has_left_before_the_first_round_is_named) {
  Everybody all;
  if (rank() == culprit()) {
    all.exchange = Exchange();
  } else {
    expect_left_after(thrown_by([&] { run(all, GetParam(), 1); }), 0);
  }
}

TEST_P(Leaving, the_first_cause_is_named_to_ranks_that_wait_for_others) {
  if (ranks() == 2) GTEST_SKIP() << "there are no others";
  const auto to_the_one_before = [](int from, int to) { return from == to + 1; };
  Everybody all(to_the_one_before);
  if (rank() == culprit()) return;
  // A rank that is N ranks before the culprit gets all bytes of N - 1 rounds.
  const std::string text = thrown_by([&] {
    for (int round = 1; round <= culprit(); ++round) {
      all.start(round);
      finish(all.exchange, GetParam());
      EXPECT_TRUE(all.has_come_from(rank() + 1, round)) << round;
    }
  });
  expect_named(text, "left");
  if (rank() == culprit() - 1) return;
  EXPECT_EQ(text.find(named(rank() + 1) + " has given up an exchange"), 0U) << text;
}

/// A rank that sends, and gets nothing back, learns of it when its bytes are not fetched.
TEST_P(Leaving, a_reader_that_leaves_is_named) {
  const auto to_the_culprit = [](int /*from*/, int to) { return to == culprit(); };
  Everybody all(to_the_culprit);
  const auto round = [&](int number) {
    all.start(number);
    finish(all.exchange, GetParam());
  };
  for (int i = 1; i <= kGoodRounds; ++i) round(i);
  if (rank() == culprit()) {
    all.exchange = Exchange();
    return;
  }
  // A round whose bytes found room, and perhaps one more, ends.
  const std::string text = thrown_by([&] {
    for (int i = 1; i <= 4; ++i) round(kGoodRounds + i);
  });
  // MPI libraries have room for more.
  if (on_one_node(rank(), culprit()) || !text.empty()) expect_named(text, "left");
}

TEST_P(Leaving, who_is_late_gets_all_of_ranks_that_have_left_after_the_last_round) {
  Everybody all;
  run(all, GetParam(), kGoodRounds);
  all.start(kGoodRounds + 1);
  if (rank() == 0) usleep(100'000);
  finish(all.exchange, GetParam());
  EXPECT_TRUE(all.has_come(kGoodRounds + 1));
  all.exchange = Exchange();  // by ranks that have not waited, long before
}

INSTANTIATE_TEST_SUITE_P(Ways, Leaving, testing::Values(Way::Wait, Way::Test, Way::SlowTest));

TEST(LeavingInStreams, who_has_left_is_named_before_a_device_waits_for_it) {
  if (!test_memory::on_device() || ranks() == 1) GTEST_SKIP();
  for (const bool at_once : {false, true}) {
    Everybody all;
    run(all, Way::Wait, kGoodRounds);
    if (rank() == culprit()) all.exchange = Exchange();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == culprit()) continue;
    Stream stream = Stream::make(place().device);
    std::byte* const bases[] = {all.memory.data()};
    const std::string text = thrown_by([&] {
      if (at_once) {
        all.exchange.enqueue(bases, stream);
      } else {
        all.exchange.start(bases, stream);
        all.exchange.wait(stream);
      }
    });
    expect_named(text, "left");
  }
}

TEST(LeavingReverse, who_has_posted_is_not_missed_while_another_rank_is_late) {
  if (test_memory::on_device() || ranks() < 3) GTEST_SKIP();
  const Layout word = Layout::dense(sizeof(int));
  ExchangePart part;
  part.array();
  for (const int other : {1, 2}) {
    if (rank() == 0) part.send(other, 0, 0, word);
    if (rank() == other) part.receive(0, 0, 0, word);
  }
  Exchange exchange(MPI_COMM_WORLD, part);
  int value = 1 << rank();
  std::byte* const base = reinterpret_cast<std::byte*>(&value);
  const Combine add = sum<int>();
  const auto start = [&] { exchange.start_reverse(std::span(&base, 1), std::span(&add, 1)); };
  if (rank() == 2) {
    start();
    exchange.give_up();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 1) usleep(100'000);
  if (rank() < 2) {
    start();
    exchange.wait();
  }
  if (rank() == 0) {
    EXPECT_EQ(value, 1 + 2 + 4);
  }
}

TEST(LeavingInStreams, who_throws_while_its_device_waits_does_not_wait_for_it) {
  if (!test_memory::on_device() || ranks() == 1) GTEST_SKIP();
  auto all = std::make_unique<Everybody>();
  if (std::getenv("STANDIN_OWN_DEVICES") == nullptr ||
      all->exchange.plan().find("put:") == std::string::npos)
    GTEST_SKIP() << "the host waits, or it is not known";
  Stream stream = Stream::make(place().device);
  std::byte* const bases[] = {all->memory.data()};
  if (rank() == culprit()) {
    EXPECT_EQ(thrown_by([&] {
                try {
                  const std::unique_ptr<Everybody> own = std::move(all);
                  own->exchange.enqueue(bases, stream);
                  throw std::runtime_error("the program's");
                } catch (const std::runtime_error&) {
                }
              }),
              "");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == culprit()) return;
  expect_named(thrown_by([&] { all->exchange.enqueue(bases, stream); }), "given");
}

TEST(LeavingInStreams, a_late_wait_of_a_stream_gets_all_of_ranks_that_have_left_after_it) {
  if (!test_memory::on_device()) GTEST_SKIP();
  Everybody all;
  Stream stream = Stream::make(place().device);
  all.start(1);
  if (rank() == 0) usleep(100'000);
  all.exchange.wait(stream);
  stream.synchronize();
  EXPECT_TRUE(all.has_come(1));
  all.exchange = Exchange();
}

/// \{ How many communicators there are that were made of one with g_key.
int g_key = MPI_KEYVAL_INVALID;
int g_alive = 0;
int count_one_more(MPI_Comm, int, void*, void* value, void* made, int* flag) {
  *static_cast<void**>(made) = value;
  *flag = 1;
  ++g_alive;
  return MPI_SUCCESS;
}
int count_one_less(MPI_Comm, int, void*, void*) {
  --g_alive;
  return MPI_SUCCESS;
}
/// \}

TEST(Farewells, communicators_are_freed) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_keyval(count_one_more, count_one_less, &g_key, nullptr);
  MPI_Comm_set_attr(comm, g_key, nullptr);
  g_alive = 0;
  ExchangePart part;
  part.array();
  for (int other = 0; other < ranks(); ++other) {
    part.send(other, 0, 0, Layout::dense(8));
    part.receive(other, 0, 0, Layout::dense(8, 8 * (other + 1)));
  }
  constexpr int kMany = 10;
  for (int i = 0; i < kMany; ++i) {
    const Exchange exchange(comm, part);
    EXPECT_GT(g_alive, 0);
  }
  EXPECT_LT(g_alive, kMany / 2) << "later exchanges free what is left of earlier ones";
  MPI_Comm_delete_attr(comm, g_key);
  MPI_Comm_free_keyval(&g_key);
  MPI_Comm_free(&comm);
}

class LeavingGrid : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (ranks() == 1) GTEST_SKIP() << "no other rank";
  }
  static Grid make() {
    return Grid(MPI_COMM_WORLD, {8, 8, 8 * ranks()},
                {.radius = Radius::faces(1),
                 .periodic = {true, true, true},
                 .counts = {1, 1, ranks()},
                 .place = place()});
  }
  static void step(Grid& grid) {
    Ghosts ghosts = grid.exchange();
    if (GetParam() == Way::Wait) ghosts.wait();
    while (!ghosts.test())
      if (GetParam() == Way::SlowTest) usleep(20'000);
    grid.swap();
  }
  /// How many exchanges it takes: a rank that is no neighbour of the culprit is told one later than
  /// its neighbours.
  static int exchanges_until_all_know() { return ranks(); }
  static void steps(Grid& grid, int count) {
    for (int i = 0; i < count; ++i) step(grid);
  }
};

TEST_P(LeavingGrid, who_throws_between_two_exchanges_is_named) {
  std::optional<Grid> grid(make());
  (void)grid->add<double>("u");
  grid->prepare();
  if (rank() == culprit()) {
    try {
      Grid own = std::move(*grid);
      steps(own, kGoodRounds);
      throw std::runtime_error("the program's");
    } catch (const std::runtime_error&) {
      return;
    }
  }
  expect_named(thrown_by([&] { steps(*grid, kGoodRounds + exchanges_until_all_know()); }), "left");
}

TEST_P(LeavingGrid, who_throws_in_an_exchange_is_named_and_does_not_wait) {
  std::optional<Grid> grid(make());
  (void)grid->add<double>("u");
  grid->prepare();
  if (rank() == culprit()) {
    try {
      Grid own = std::move(*grid);
      steps(own, kGoodRounds);
      const Ghosts begun = own.exchange();
      throw std::runtime_error("the program's");
    } catch (const std::runtime_error&) {
      return;
    }
  }
  expect_named_in_a_round(
      thrown_by([&] { steps(*grid, kGoodRounds + 1 + exchanges_until_all_know()); }));
}

TEST_P(LeavingGrid, who_destroys_its_grid_after_fewer_exchanges_is_named) {
  std::optional<Grid> grid(make());
  (void)grid->add<double>("u");
  auto v = grid->add<double>("v", {.next = false});
  grid->prepare();
  grid->accumulate({}, {v}, replace());
  steps(*grid, kGoodRounds);
  if (rank() == culprit()) {
    grid.reset();
    return;
  }
  const bool back = GetParam() == Way::Wait;
  expect_named(thrown_by([&] {
                 if (!back) return steps(*grid, exchanges_until_all_know());
                 for (int i = 0; i < exchanges_until_all_know(); ++i)
                   grid->accumulate({}, {v}, replace());
               }),
               "left");
}

INSTANTIATE_TEST_SUITE_P(Ways, LeavingGrid, testing::Values(Way::Wait, Way::Test, Way::SlowTest));

}  // namespace
}  // namespace strake
