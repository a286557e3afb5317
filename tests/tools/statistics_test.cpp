// Statistics of a few runs of two kinds.
#include "run/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace strake::run {
namespace {

std::vector<double> from(double first, double step, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(first + step * i);
  return values;
}

TEST(Statistics, spread_has_the_median_and_both_ends) {
  const Spread odd = spread_of({3, 1, 2});
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.low, 1);
  EXPECT_EQ(odd.high, 3);
  EXPECT_EQ(spread_of({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(spread_of({7}).median, 7);
}

TEST(Statistics, fewer_than_four_runs_show_nothing_however_clear) {
  for (int runs = 1; runs < kFewestRuns; ++runs) {
    const Ratio ratio = ratio_of(from(100, 1, runs), from(1, 0.01, runs));
    EXPECT_GT(ratio.value, 90);
    EXPECT_FALSE(ratio.interval);
    EXPECT_EQ(ratio.verdict(), Verdict::TooFew);
  }
  EXPECT_EQ(ratio_of(from(100, 1, 4), from(1, 0.01, 4)).verdict(), Verdict::Faster);
}

TEST(Statistics, the_interval_leaves_out_what_the_tables_of_mann_and_whitney_say) {
  // The test's critical values at 5 %, two-sided: so many ratios are left out at either end.
  struct Row {
    int runs;
    std::size_t critical;
  };
  for (const auto& [runs, critical] : {Row{4, 0}, {5, 2}, {8, 13}, {10, 23}, {20, 127}}) {
    // Ratios that all differ.
    std::vector<double> alone, under;
    for (int i = 0; i < runs; ++i) {
      alone.push_back(1 + 0.01 * i * runs);
      under.push_back(1.0 / (1 + 1e-4 * i));
    }
    std::vector<double> ratios;
    for (const double a : alone) {
      for (const double u : under) ratios.push_back(a / u);
    }
    std::sort(ratios.begin(), ratios.end());
    const Ratio ratio = ratio_of(alone, under);
    ASSERT_TRUE(ratio.interval);
    EXPECT_EQ(ratio.interval->low, ratios[critical]) << runs;
    EXPECT_EQ(ratio.interval->high, ratios[ratios.size() - 1 - critical]) << runs;
  }
}

TEST(Statistics, many_runs_are_near_the_normal_distribution) {
  // The interval of 100 and 100 runs: from the 4197th to the 5804th of 10,000 ratios, within a few.
  const std::vector<double> alone = from(1000, 1, kMostRuns);
  const Ratio ratio = ratio_of(alone, std::vector<double>(kMostRuns, 1.0));
  ASSERT_TRUE(ratio.interval);
  EXPECT_NEAR(ratio.interval->low, 1041, 2);
  EXPECT_NEAR(ratio.interval->high, 1058, 2);
}

TEST(Statistics, the_verdict_goes_by_the_interval) {
  EXPECT_EQ(ratio_of({2.0, 2.1, 2.2, 2.0, 2.1}, {1.0, 1.1, 1.0, 1.2, 1.1}).verdict(),
            Verdict::Faster);
  EXPECT_EQ(ratio_of({1.0, 1.1, 1.0, 1.2, 1.1}, {2.0, 2.1, 2.2, 2.0, 2.1}).verdict(),
            Verdict::Slower);
  EXPECT_EQ(ratio_of({2.0, 2.1, 2.2, 2.0, 2.1}, {2.1, 2.0, 2.0, 2.2, 2.1}).verdict(),
            Verdict::NoDifference);
  // One run that was disturbed hides a difference in few runs, and does not make one.
  EXPECT_EQ(ratio_of({1.0, 1.0, 1.0, 9.0}, {1.0, 1.0, 1.0, 1.0}).verdict(), Verdict::NoDifference);
  // Quiet runs that differ by less than anybody cares for.
  EXPECT_EQ(ratio_of(from(1.001, 1e-6, 9), from(1, 1e-6, 9)).verdict(), Verdict::NoDifference);
}

}  // namespace
}  // namespace strake::run
