#include "exchange/trials.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace strake::exchange {
namespace {

constexpr int kEnough = 3 * (Trials::kWarmUp + Trials::kTimed);

/// A rank of a program, by a clock of its own.
class Rank {
 public:
  using Cost = std::function<std::int64_t(const Trials::Subject&, Method)>;
  explicit Rank(Cost cost) : cost_(std::move(cost)) {}

  /// Begins a message of `bytes`, and returns its way.
  Trials::Way begin(std::int64_t bytes, Method by_rule, bool nonblocking = true) {
    const Trials::Subject subject{{7, 8}, bytes, Direction::Send, nonblocking};
    const Trials::Way way = trials_.way(subject, by_rule, now_);
    now_ += cost_(subject, way.method);
    trials_.leave(now_, !nonblocking);
    return way;
  }
  void complete(std::int64_t took) {
    trials_.enter(now_);
    now_ += took;
    trials_.leave(now_, true);
  }
  void fail() { trials_.drop(); }
  void compute(std::int64_t took) { now_ += took; }
  [[nodiscard]] Trials::Found found() const { return trials_.found(); }

 private:
  Trials trials_;
  Cost cost_;
  std::int64_t now_ = 1000;
};

Rank::Cost takes(std::int64_t left, std::int64_t packed) {
  return
      [=](const Trials::Subject&, Method method) { return method == Method::Pack ? packed : left; };
}

/// The way of the last of enough exchanges.
Trials::Way after_trials(Rank& rank, Method by_rule, std::int64_t computing = 0) {
  for (int i = 0; i < kEnough; ++i) {
    EXPECT_FALSE(rank.begin(800, by_rule).settled) << i;
    rank.begin(800, by_rule);  // the same layout twice is one trial
    rank.compute(computing);
    rank.complete(50);
    rank.compute(computing);
  }
  return rank.begin(800, by_rule);
}

TEST(Trials, keep_packing_where_the_rules_were_wrong) {
  Rank rank(takes(1000, 500));
  const Trials::Way way = after_trials(rank, Method::System);
  EXPECT_TRUE(way.settled);
  EXPECT_EQ(way.method, Method::Pack);
  EXPECT_EQ(rank.found().packed, 1U);
  // Of an exchange of two messages, and the call that completes them.
  EXPECT_EQ(rank.found().packed_ns, 2 * 500 + 50U);
  EXPECT_EQ(rank.found().left_ns, 2 * 1000 + 50U);
}

TEST(Trials, leave_to_the_library_what_it_copies_faster) {
  Rank rank(takes(500, 1000));
  EXPECT_EQ(after_trials(rank, Method::Pack).method, Method::System);
  EXPECT_EQ(rank.found().left, 1U);
}

TEST(Trials, keep_the_rules_where_little_would_be_gained) {
  Rank rank(takes(1000, 980));
  EXPECT_EQ(after_trials(rank, Method::System).method, Method::System);
}

TEST(Trials, do_not_count_what_a_program_computes_meanwhile) {
  Rank rank(takes(1000, 500));
  EXPECT_EQ(after_trials(rank, Method::System, 1000000).method, Method::Pack);
}

TEST(Trials, one_late_neighbour_changes_nothing) {
  int message = 0;
  Rank rank([&](const Trials::Subject&, Method method) {
    return (method == Method::Pack ? 500 : 1000) + (++message % 13 == 0 ? 100000 : 0);
  });
  EXPECT_EQ(after_trials(rank, Method::System).method, Method::Pack);
}

TEST(Trials, two_exchanges_in_turn_are_tried_each_by_itself) {
  // Packing is faster for the short messages only.
  Rank rank([](const Trials::Subject& subject, Method method) {
    const bool slow = (method == Method::Pack) == (subject.bytes > 1000);
    return slow ? 2000 : 1000;
  });
  for (int i = 0; i < kEnough; ++i) {
    rank.begin(500, Method::System);
    rank.complete(10);
    rank.begin(5000, Method::System);
    rank.complete(10);
  }
  EXPECT_EQ(rank.begin(500, Method::System).method, Method::Pack);
  EXPECT_EQ(rank.begin(5000, Method::System).method, Method::System);
}

TEST(Trials, an_exchange_goes_one_way_and_keeps_what_made_all_of_it_faster) {
  // Packing costs the long message less than it saves for the short one.
  Rank rank([](const Trials::Subject& subject, Method method) {
    if (subject.bytes == 500) return method == Method::Pack ? 1000 : 9000;
    return method == Method::Pack ? 2000 : 1000;
  });
  for (int i = 0; i < kEnough; ++i) {
    const Method first = rank.begin(500, Method::System).method;
    EXPECT_EQ(rank.begin(5000, Method::System).method, first);
    rank.complete(10);
  }
  EXPECT_EQ(rank.begin(500, Method::System).method, Method::Pack);
  EXPECT_EQ(rank.begin(5000, Method::System).method, Method::Pack);
}

TEST(Trials, blocking_calls_are_exchanges) {
  Rank rank(takes(1000, 500));
  for (int i = 0; i < kEnough; ++i) rank.begin(800, Method::System, false);
  const Trials::Way way = rank.begin(800, Method::System, false);
  EXPECT_TRUE(way.settled);
  EXPECT_EQ(way.method, Method::Pack);
}

TEST(Trials, an_exchange_ends_with_the_next_message_of_any_kind) {
  Trials trials;
  const Trials::Subject subject{{7, 8}, 800, Direction::Send, true};
  EXPECT_FALSE(trials.way(subject, Method::System, 0).settled);
  trials.leave(10, false);
  trials.begin();  // one more of the same exchange
  EXPECT_TRUE(trials.is_open());
  trials.enter(10);
  trials.leave(20, true);
  EXPECT_TRUE(trials.is_open());
  trials.begin();
  EXPECT_FALSE(trials.is_open());
}

TEST(Trials, an_exchange_that_fails_counts_for_nothing) {
  Rank rank(takes(1000, 500));
  for (int i = 0; i < 2 * kEnough; ++i) {
    rank.begin(800, Method::System);
    rank.fail();
  }
  EXPECT_FALSE(rank.begin(800, Method::System).settled);
}

TEST(Trials, end_for_new_layouts_when_there_are_many) {
  Rank rank(takes(1000, 500));
  for (int i = 0; i < 1024; ++i) {
    EXPECT_FALSE(rank.begin(8 + i, Method::System).settled);
    rank.complete(1);
  }
  const Trials::Way way = rank.begin(7, Method::System);
  EXPECT_TRUE(way.settled);
  EXPECT_FALSE(way.tried);
  EXPECT_EQ(rank.found().unsettled, 1024U);
}

}  // namespace
}  // namespace strake::exchange
