// Which way collective calls take: how ways are tried, what is timed, and how ranks decide.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "exchange/collective/trial.hpp"

namespace strake::exchange {
namespace {

/// Makes calls that take so long by each way, until they decide.
void try_all(Trial& trial, const std::vector<std::int64_t>& ns_by_way) {
  while (!trial.decides()) {
    const Way way = trial.next();
    if (trial.times()) trial.add(0, way, ns_by_way[static_cast<std::size_t>(way)]);
  }
  trial.decide(MPI_COMM_WORLD);
}

TEST(CollectiveTrial, each_way_has_blocks_of_calls_whose_first_one_is_not_timed) {
  Trial trial(Way::Library, true);
  std::vector<Way> ways;
  std::vector<int> timed;
  while (!trial.decides()) {
    ways.push_back(trial.next());
    if (trial.times()) timed.push_back(static_cast<int>(ways.size()) - 1);
  }
  std::vector<Way> wanted(8, Way::Pairs);
  const std::vector<std::pair<Way, std::size_t>> blocks = {
      {Way::Library, 5}, {Way::Pairs, 10}, {Way::Library, 5}};
  for (const auto& [way, calls] : blocks) wanted.insert(wanted.end(), calls, way);
  EXPECT_EQ(ways, wanted);
  EXPECT_EQ(timed, (std::vector{9, 10, 11, 12, 14, 15, 16, 17, 19, 20, 21, 22, 24, 25, 26, 27}));
}

TEST(CollectiveTrial, calls_with_a_short_period_are_all_timed_by_each_way) {
  for (const bool relays : {false, true})
    for (const unsigned period : {1U, 2U, 3U, 4U}) {
      Trial trial(Way::Pairs, true, relays);
      std::set<std::pair<Way, unsigned>> timed;
      for (unsigned call = 0; !trial.decides(); ++call) {
        const Way way = trial.next();
        if (trial.times()) timed.emplace(way, call % period);
      }
      EXPECT_EQ(timed.size(), period * (relays ? 3 : 2)) << period;
    }
}

TEST(CollectiveTrial, the_fastest_way_stays_until_the_next_trial) {
  struct Case {
    Way fastest;
    std::vector<std::int64_t> ns;
    int until;
  };
  // 10 calls by each other way, at 0.5 % of all calls' time.
  const std::vector<Case> cases = {{Way::Library, {10, 20, 30}, 200 * (10 + 20)},
                                   {Way::Pairs, {20, 10, 30}, 200 * (10 + 20)},
                                   {Way::Relayed, {15, 15, 10}, 200 * (5 + 5)},
                                   {Way::Pairs, {10'000, 10, 10'000}, 1 << 16},
                                   {Way::Library, {1000, 1001, 1001}, 128}};
  for (const auto& [fastest, ns, until] : cases) {
    Trial trial(Way::Pairs, true, true);
    for (int again = 0; again < 2; ++again) {
      try_all(trial, ns);
      EXPECT_EQ(trial.leaves(false), fastest == Way::Library);
      int calls = 1;  // the one that begins the trial
      if (fastest == Way::Library) {
        for (; trial.leaves(true); ++calls) ASSERT_LE(calls, until);
      } else {
        for (; calls < until; ++calls) ASSERT_EQ(trial.next(), fastest);
        EXPECT_EQ(trial.next(), fastest);
      }
      EXPECT_EQ(calls, until);
      EXPECT_FALSE(trial.decides());
    }
  }
}

TEST(CollectiveTrial, a_call_in_three_that_is_long_by_one_way_counts) {
  Trial trial(Way::Pairs, true);
  for (std::uint64_t call = 0; !trial.decides(); ++call) {
    const Way way = trial.next();
    const std::uint64_t shape = call % 3;
    const bool long_one = shape == 2 && way == Way::Pairs;
    if (trial.times()) trial.add(shape, way, long_one ? 1000 : way == Way::Pairs ? 40 : 50);
  }
  trial.decide(MPI_COMM_WORLD);
  EXPECT_EQ(trial.next(), Way::Library);
}

TEST(CollectiveTrial, what_is_not_tried_takes_one_way) {
  Trial trial(Way::Pairs, false);
  for (int call = 0; call < 5000; ++call) {
    ASSERT_FALSE(trial.decides());
    ASSERT_FALSE(trial.leaves(true));
    ASSERT_EQ(trial.next(), Way::Pairs);
    ASSERT_FALSE(trial.times());
  }
}

TEST(CollectiveTrial, ranks_decide_by_the_sum_of_their_times) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Trial trial(Way::Library, true);
  // Rank 0 alone loses by pairs, and less than another one wins.
  try_all(trial, rank == 0 ? std::vector<std::int64_t>{10, 15} : std::vector<std::int64_t>{30, 10});
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  EXPECT_EQ(trial.next(), ranks == 1 ? Way::Library : Way::Pairs);
}

}  // namespace
}  // namespace strake::exchange
