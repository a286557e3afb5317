#include "exchange/choice/trials.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <utility>

namespace strake::exchange {
namespace {

constexpr int kEnough = 4 * (Trials::kWarmUp + Trials::kTimed);
/// Nothing is settled before.
constexpr int kLeast = 3 * (Trials::kWarmUp + Trials::kFew);

/// A rank of a program, by a clock of its own.
class Rank {
 public:
  using Cost = std::function<std::int64_t(const Trials::Subject&, const Trials::Selection&)>;
  explicit Rank(Cost cost) : cost_(std::move(cost)) {}

  /// Begins a message of `bytes`, and returns what was selected for it.
  Trials::Selection begin(std::int64_t bytes, const Trials::Rule& by_rule, bool nonblocking = true,
                          bool offerable = false) {
    const Trials::Subject subject{{7, 8}, bytes, MessageDirection::Send, nonblocking, offerable};
    const Trials::Selection selection = trials_.select(subject, by_rule, now_);
    now_ += cost_(subject, selection);
    trials_.leave(now_, !nonblocking);
    return selection;
  }
  void complete(std::int64_t took) {
    trials_.enter(now_);
    now_ += took;
    trials_.leave(now_, true);
  }
  void fail() { trials_.drop(); }
  void review() { trials_.review(now_); }
  void compute(std::int64_t took) { now_ += took; }
  [[nodiscard]] Trials::Found found() const { return trials_.found(); }

 private:
  static constexpr std::int64_t kAge = 1'000'000'000;  // trials can be afforded
  Trials trials_{0, 0};
  Cost cost_;
  std::int64_t now_ = kAge;
};

Rank::Cost takes(std::int64_t left, std::int64_t packed) {
  return [=](const Trials::Subject&, const Trials::Selection& selection) {
    return selection.transport == Transport::Pack ? packed : left;
  };
}

/// The selection for the last of enough exchanges.
Trials::Selection after_trials(Rank& rank, const Trials::Rule& by_rule,
                               std::int64_t computing = 0) {
  for (int i = 0; i < kEnough; ++i) {
    const Trials::Selection selection = rank.begin(800, by_rule);
    EXPECT_FALSE(selection.settled && i < kLeast) << i;
    rank.begin(800, by_rule);  // the same layout twice is one trial
    rank.compute(computing);
    rank.complete(50);
    rank.compute(computing);
  }
  return rank.begin(800, by_rule);
}

TEST(Trials, keep_packing_where_the_rules_were_wrong) {
  Rank rank(takes(1000, 500));
  const Trials::Selection selection = after_trials(rank, {Transport::Library});
  EXPECT_TRUE(selection.settled);
  EXPECT_EQ(selection.transport, Transport::Pack);
  EXPECT_EQ(rank.found().packed, 1U);
  // The exchange has two messages, and the call that completes them.
  EXPECT_EQ(rank.found().moved_ns, 2 * 500 + 50U);
  EXPECT_EQ(rank.found().left_ns, 2 * 1000 + 50U);
}

TEST(Trials, leave_to_the_library_what_it_copies_faster) {
  Rank rank(takes(500, 1000));
  EXPECT_EQ(after_trials(rank, {Transport::Pack}).transport, Transport::Library);
  EXPECT_EQ(rank.found().left, 1U);
}

TEST(Trials, keep_the_rules_where_little_would_be_gained) {
  Rank rank(takes(1000, 980));
  EXPECT_EQ(after_trials(rank, {Transport::Library}).transport, Transport::Library);
}

TEST(Trials, do_not_count_what_a_program_computes_meanwhile) {
  Rank rank(takes(1000, 500));
  EXPECT_EQ(after_trials(rank, {Transport::Library}, 1000000).transport, Transport::Pack);
}

TEST(Trials, one_late_neighbour_changes_nothing) {
  int message = 0;
  Rank rank([&](const Trials::Subject&, const Trials::Selection& selection) {
    return (selection.transport == Transport::Pack ? 500 : 1000) +
           (++message % 13 == 0 ? 100000 : 0);
  });
  EXPECT_EQ(after_trials(rank, {Transport::Library}).transport, Transport::Pack);
}

TEST(Trials, two_exchanges_in_turn_are_tried_each_by_itself) {
  // Packing is faster for the short messages only.
  Rank rank([](const Trials::Subject& subject, const Trials::Selection& selection) {
    const bool slow = (selection.transport == Transport::Pack) == (subject.bytes > 1000);
    return slow ? 2000 : 1000;
  });
  for (int i = 0; i < kEnough; ++i) {
    rank.begin(500, {Transport::Library});
    rank.complete(10);
    rank.begin(5000, {Transport::Library});
    rank.complete(10);
  }
  EXPECT_EQ(rank.begin(500, {Transport::Library}).transport, Transport::Pack);
  EXPECT_EQ(rank.begin(5000, {Transport::Library}).transport, Transport::Library);
}

TEST(Trials, an_exchange_goes_one_way_and_keeps_what_made_all_of_it_faster) {
  // Packing costs the long message less than it saves for the short one.
  Rank rank([](const Trials::Subject& subject, const Trials::Selection& selection) {
    if (subject.bytes == 500) return selection.transport == Transport::Pack ? 1000 : 9000;
    return selection.transport == Transport::Pack ? 2000 : 1000;
  });
  for (int i = 0; i < kEnough; ++i) {
    const Transport first = rank.begin(500, {Transport::Library}).transport;
    EXPECT_EQ(rank.begin(5000, {Transport::Library}).transport, first);
    rank.complete(10);
  }
  EXPECT_EQ(rank.begin(500, {Transport::Library}).transport, Transport::Pack);
  EXPECT_EQ(rank.begin(5000, {Transport::Library}).transport, Transport::Pack);
}

TEST(Trials, blocking_calls_are_exchanges) {
  Rank rank(takes(1000, 500));
  for (int i = 0; i < kEnough; ++i) rank.begin(800, {Transport::Library}, false);
  const Trials::Selection selection = rank.begin(800, {Transport::Library}, false);
  EXPECT_TRUE(selection.settled);
  EXPECT_EQ(selection.transport, Transport::Pack);
}

TEST(Trials, an_exchange_ends_with_the_next_message_of_any_kind) {
  Trials trials;
  const Trials::Subject subject{{7, 8}, 800, MessageDirection::Send, true};
  EXPECT_FALSE(trials.select(subject, {Transport::Library}, 0).settled);
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
    rank.begin(800, {Transport::Library});
    rank.fail();
  }
  EXPECT_FALSE(rank.begin(800, {Transport::Library}).settled);
}

TEST(Trials, end_for_new_layouts_when_there_are_many) {
  Rank rank(takes(1000, 500));
  for (int i = 0; i < 1024; ++i) {
    EXPECT_FALSE(rank.begin(8 + i, {Transport::Library}).settled);
    rank.complete(1);
  }
  const Trials::Selection selection = rank.begin(7, {Transport::Library});
  EXPECT_TRUE(selection.settled);
  EXPECT_FALSE(selection.tried);
  EXPECT_EQ(rank.found().unsettled, 1024U);
}

TEST(Trials, leave_shared_memory_where_the_library_alone_is_faster) {
  // By the rules it is shared.
  const auto costs = [](std::int64_t shared) {
    return [shared](const Trials::Subject&, const Trials::Selection& selection) {
      return selection.shares ? shared : selection.transport == Transport::Pack ? 3000 : 1000;
    };
  };
  Rank slow(costs(1500));
  EXPECT_FALSE(after_trials(slow, {Transport::Library}).shares);
  EXPECT_EQ(slow.begin(800, {Transport::Library}).transport, Transport::Library);
  Rank fast(costs(800));
  EXPECT_TRUE(after_trials(fast, {Transport::Pack}).shares);
}

TEST(Trials, start_from_the_profile_and_try_shared_memory_where_that_says_no) {
  const auto costs = [](std::int64_t shared) {
    return [shared](const Trials::Subject&, const Trials::Selection& selection) {
      return selection.shares ? shared : selection.transport == Transport::Pack ? 900 : 1000;
    };
  };
  for (const Transport transport : {Transport::Library, Transport::Pack}) {
    const Trials::Rule unshared{transport, false, true};
    Rank fast(costs(500));
    const Trials::Selection first = fast.begin(800, unshared);
    EXPECT_EQ(first.transport, transport);
    EXPECT_FALSE(first.shares || first.settled);
    fast.complete(50);
    const Trials::Selection last = after_trials(fast, unshared);
    EXPECT_TRUE(last.settled && last.shares);
    EXPECT_EQ(last.transport, transport);  // to ranks that share no memory
    EXPECT_EQ(fast.found().shared, 1U);
    EXPECT_EQ(fast.found().moved_ns, 2 * 500 + 50U);
    fast.review();
    EXPECT_TRUE(fast.begin(800, unshared).shares);
    Rank slow(costs(1500));
    EXPECT_FALSE(after_trials(slow, unshared).shares);
    EXPECT_EQ(slow.found().shared, 0U);
  }
}

TEST(Trials, shared_memory_is_no_way_of_its_own_where_the_rules_take_it_or_nothing_can) {
  for (const Trials::Rule& rule :
       {Trials::Rule{Transport::Library, true, true}, {Transport::Library}}) {
    int exchanges = 0;
    Rank rank([&](const Trials::Subject&, const Trials::Selection&) {
      ++exchanges;
      return 1000;
    });
    Trials::Selection selection;
    while (!(selection = rank.begin(800, rule)).settled) rank.complete(50);
    EXPECT_EQ(exchanges, 3 * (Trials::kWarmUp + Trials::kTimed) + 1);
  }
}

TEST(Trials, what_may_be_offered_is_also_packed_into_shared_memory_and_the_faster_is_kept) {
  const Trials::Rule shareable{Transport::Library, true, true};
  for (const bool offers_win : {true, false}) {
    Rank rank([&](const Trials::Subject&, const Trials::Selection& selection) {
      if (!selection.shares) return 1500;
      return selection.offers == offers_win ? 800 : 1000;
    });
    Trials::Selection selection;
    for (int i = 0; i <= kEnough && !(selection = rank.begin(800, shareable, true, true)).settled;
         ++i)
      rank.complete(50);
    EXPECT_TRUE(selection.settled && selection.shares);
    EXPECT_EQ(selection.offers, offers_win);
    EXPECT_EQ(rank.found().shared, 1U);
    EXPECT_EQ(rank.found().moved_ns, 850U);
  }
}

TEST(Trials, a_hopeless_way_is_not_tried_to_the_end) {
  int hopeless = 0;
  Rank rank([&](const Trials::Subject&, const Trials::Selection& selection) {
    if (selection.transport != Transport::Pack) return 1000;
    ++hopeless;
    return 5000;
  });
  for (int i = 0; i < kEnough; ++i) {
    rank.begin(800, {Transport::Library});
    rank.complete(50);
  }
  EXPECT_EQ(hopeless, Trials::kWarmUp + Trials::kFew);
}

TEST(Trials, a_way_is_judged_once_it_is_warm) {
  // Each way is slow until it has run for a while, and the rules' way has run before.
  std::array<std::int64_t, 2> ran{200'000, 0};
  Trials trials(0);
  std::int64_t now = 1'000'000'000;
  Trials::Selection selection;
  for (int i = 0; i < 10'000 && !selection.settled; ++i) {
    selection = trials.select({{7, 8}, 800, MessageDirection::Send, true}, {Transport::Pack}, now);
    const bool left = selection.transport == Transport::Library;
    const std::int64_t took = (left ? 2000 : 3000) + (ran[left] < Trials::kWarmsIn / 2 ? 4000 : 0);
    ran[left] += took;
    trials.leave(now += took, true);
    trials.begin();
  }
  EXPECT_TRUE(selection.settled);
  EXPECT_EQ(selection.transport, Transport::Library);
}

TEST(Trials, take_a_hundredth_of_a_jobs_time_at_most) {
  constexpr std::int64_t kSlow = 1'000'000;
  std::int64_t lost = 0;
  std::int64_t now = 0;
  Trials trials(now, 0);
  const Trials::Subject subject{{7, 8}, 800, MessageDirection::Send, true};
  for (int i = 0; i < 20'000; ++i) {
    const Trials::Selection selection = trials.select(subject, {Transport::Library}, now);
    const bool slow = selection.transport == Transport::Pack;
    const std::int64_t took = 1000 + (slow ? kSlow : 0);
    if (slow) lost += kSlow;
    now += took + 100'000;
    trials.leave(now, true);
    EXPECT_LE(lost, now / 100 + (Trials::kWarmUp + Trials::kFew) * kSlow) << i;
    if (i % 1000 == 999) trials.review(now);
  }
  EXPECT_GE(lost, 2 * kSlow);
}

TEST(Trials, pause_where_to_time_all_messages_would_take_long) {
  // An exchange of 300 short messages, and nothing else.
  Trials trials(0, 0);
  std::int64_t now = 0;
  std::int64_t on_trial = 0;
  bool settled = false;
  int exchanges = 0;
  for (; exchanges < 1'000'000 && !settled; ++exchanges) {
    if (now < trials.resumes_at()) {  // what is known of a paused way is not asked for again
      now += 300 * 100;
      continue;
    }
    for (int i = 0; i < 300; ++i) {
      const Trials::Selection selection =
          trials.select({{7, 8}, i, MessageDirection::Send, true}, {Transport::Pack}, now);
      settled = selection.settled && !selection.paused;
      on_trial += selection.settled ? 0 : Trials::kCallCost;
      trials.leave(now += 100, i == 299);
    }
    trials.begin();
    EXPECT_LE(on_trial, now / 100 + 2 * 300 * Trials::kCallCost);
  }
  EXPECT_TRUE(settled);
  EXPECT_LT(now, 1'000'000'000);
}

TEST(Trials, settle_although_exchanges_are_rare_and_short) {
  // One of 1.2 us every half a second, and a review each minute.
  Trials trials(0);
  std::int64_t now = 0;
  Trials::Selection selection;
  int settled = 0;
  for (int i = 0; i < 2000; ++i) {
    selection =
        trials.select({{7, 8}, 800, MessageDirection::Send, true}, {Transport::Library}, now);
    settled += selection.settled && !selection.paused ? 1 : 0;
    trials.leave(now += selection.transport == Transport::Pack ? 700 : 1200, true);
    trials.begin();
    now += 500'000'000;
    if (i % 120 == 119) trials.review(now);
  }
  EXPECT_GT(settled, 1500);
}

TEST(Trials, a_neighbour_that_is_very_late_once_ends_no_trials) {
  bool late = false;
  Rank rank([&](const Trials::Subject&, const Trials::Selection& selection) {
    const bool first = selection.transport == Transport::Pack && !std::exchange(late, true);
    return first ? 1'000'000'000 : selection.transport == Transport::Pack ? 500 : 1000;
  });
  EXPECT_EQ(after_trials(rank, {Transport::Library}).transport, Transport::Pack);
}

TEST(Trials, a_choice_that_turned_bad_is_left_after_a_review) {
  bool changed = false;
  Rank rank([&](const Trials::Subject&, const Trials::Selection& selection) {
    return (selection.transport == Transport::Pack) != changed ? 500 : 1000;
  });
  EXPECT_EQ(after_trials(rank, {Transport::Library}).transport, Transport::Pack);
  changed = true;
  EXPECT_EQ(rank.begin(800, {Transport::Library}).transport, Transport::Pack);
  rank.review();  // too soon after trials that took longer than a tenth of the time since
  EXPECT_EQ(rank.begin(800, {Transport::Library}).transport, Transport::Pack);
  EXPECT_EQ(rank.found().unsettled, 0U);
  rank.compute(10'000'000);
  rank.review();
  EXPECT_EQ(after_trials(rank, {Transport::Library}).transport, Transport::Library);
  EXPECT_EQ(rank.found().unsettled, 0U);
}

TEST(Trials, blocking_calls_that_follow_each_other_are_one_exchange) {
  // To leave the send to the library costs its receiver more than it saves.
  Trials trials(0, 0);
  std::int64_t now = 1'000'000'000;
  const Trials::Subject send{{7, 8}, 800, MessageDirection::Send, false};
  const Trials::Subject receive{{7, 8}, 800, MessageDirection::Receive, false};
  for (int i = 0; i < kEnough; ++i) {
    const bool left = trials.select(send, {Transport::Pack}, now).transport == Transport::Library;
    trials.leave(now += left ? 500 : 1000, true);
    trials.begin();
    trials.select(receive, {Transport::Pack}, now);
    trials.leave(now += left ? 3000 : 1000, true);
    trials.begin();
  }
  EXPECT_EQ(trials.select(send, {Transport::Pack}, now).transport, Transport::Pack);
}

TEST(Trials, exchanges_that_touch_memory_for_the_first_time_are_not_timed) {
  // Packing takes long as long as its buffers are new.
  int packed = 0;
  Trials trials(0, 0);
  std::int64_t now = 1'000'000'000;
  const Trials::Subject subject{{7, 8}, 800, MessageDirection::Send, true};
  Trials::Selection selection;
  for (int i = 0; i < 1000 && !selection.settled; ++i) {
    selection = trials.select(subject, {Transport::Library}, now);
    const bool is_new = selection.transport == Transport::Pack && ++packed < 100;
    now += is_new ? 9000 : selection.transport == Transport::Pack ? 500 : 1000;
    trials.leave(now, true, is_new);
    now += 10'000'000;
  }
  EXPECT_TRUE(selection.settled);
  EXPECT_EQ(selection.transport, Transport::Pack);
}

}  // namespace
}  // namespace strake::exchange
