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
    const CollectiveWay way = trial.next();
    if (trial.times()) trial.add(0, way, ns_by_way[static_cast<std::size_t>(way)]);
  }
  trial.decide(MPI_COMM_WORLD);
}

TEST(CollectiveTrial, each_way_has_blocks_of_calls_whose_first_one_is_not_timed) {
  Trial trial(CollectiveWay::Library, true);
  std::vector<CollectiveWay> ways;
  std::vector<int> timed;
  while (!trial.decides()) {
    ways.push_back(trial.next());
    if (trial.times()) timed.push_back(static_cast<int>(ways.size()) - 1);
  }
  std::vector<CollectiveWay> wanted(8, CollectiveWay::Pairs);
  const std::vector<std::pair<CollectiveWay, std::size_t>> blocks = {
      {CollectiveWay::Library, 5}, {CollectiveWay::Pairs, 10}, {CollectiveWay::Library, 5}};
  for (const auto& [way, calls] : blocks) wanted.insert(wanted.end(), calls, way);
  EXPECT_EQ(ways, wanted);
  EXPECT_EQ(timed, (std::vector{9, 10, 11, 12, 14, 15, 16, 17, 19, 20, 21, 22, 24, 25, 26, 27}));
}

TEST(CollectiveTrial, calls_with_a_short_period_are_all_timed_by_each_way) {
  for (const bool relays : {false, true})
    for (const unsigned period : {1U, 2U, 3U, 4U}) {
      Trial trial(CollectiveWay::Pairs, true, relays);
      std::set<std::pair<CollectiveWay, unsigned>> timed;
      for (unsigned call = 0; !trial.decides(); ++call) {
        const CollectiveWay way = trial.next();
        if (trial.times()) timed.emplace(way, call % period);
      }
      EXPECT_EQ(timed.size(), period * (relays ? 3 : 2)) << period;
    }
}

TEST(CollectiveTrial, the_fastest_way_stays_until_the_next_trial) {
  struct Case {
    CollectiveWay fastest;
    std::vector<std::int64_t> ns;
    int until;
  };
  // 10 calls by each other way, at 0.5 % of all calls' time.
  const std::vector<Case> cases = {{CollectiveWay::Library, {10, 20, 30}, 200 * (10 + 20)},
                                   {CollectiveWay::Pairs, {20, 10, 30}, 200 * (10 + 20)},
                                   {CollectiveWay::Relayed, {15, 15, 10}, 200 * (5 + 5)},
                                   {CollectiveWay::Pairs, {10'000, 10, 10'000}, 1 << 16},
                                   {CollectiveWay::Library, {1000, 1001, 1001}, 128}};
  for (const auto& [fastest, ns, until] : cases) {
    Trial trial(CollectiveWay::Pairs, true, true);
    for (int again = 0; again < 2; ++again) {
      try_all(trial, ns);
      EXPECT_EQ(trial.leaves(false), fastest == CollectiveWay::Library);
      int calls = 1;  // the one that begins the trial
      if (fastest == CollectiveWay::Library) {
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
  Trial trial(CollectiveWay::Pairs, true);
  for (std::uint64_t call = 0; !trial.decides(); ++call) {
    const CollectiveWay way = trial.next();
    const std::uint64_t shape = call % 3;
    const bool long_one = shape == 2 && way == CollectiveWay::Pairs;
    if (trial.times())
      trial.add(shape, way, long_one ? 1000 : way == CollectiveWay::Pairs ? 40 : 50);
  }
  trial.decide(MPI_COMM_WORLD);
  EXPECT_EQ(trial.next(), CollectiveWay::Library);
}

TEST(CollectiveTrial, what_is_not_tried_takes_one_way) {
  Trial trial(CollectiveWay::Pairs, false);
  for (int call = 0; call < 5000; ++call) {
    ASSERT_FALSE(trial.decides());
    ASSERT_FALSE(trial.leaves(true));
    ASSERT_EQ(trial.next(), CollectiveWay::Pairs);
    ASSERT_FALSE(trial.times());
  }
}

TEST(CollectiveTrial, ranks_decide_by_the_sum_of_their_times) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Trial trial(CollectiveWay::Library, true);
  // Rank 0 alone loses by pairs, and less than another one wins.
  try_all(trial, rank == 0 ? std::vector<std::int64_t>{10, 15} : std::vector<std::int64_t>{30, 10});
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  EXPECT_EQ(trial.next(), ranks == 1 ? CollectiveWay::Library : CollectiveWay::Pairs);
}

}  // namespace
}  // namespace strake::exchange
