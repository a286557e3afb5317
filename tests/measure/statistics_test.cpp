/// \file  The tests for i.i.d. samples pass such samples and find those that are not.
#include "measure/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>
#include <vector>

namespace strake::measure {
namespace {

using Samples = std::vector<double>;

Samples normal(std::uint64_t seed, std::size_t count = 500) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(10, 1);
  Samples samples(count);
  for (double& sample : samples) sample = noise(random);
  return samples;
}

/// How many of `seeds` sets pass.
template <typename Change>
int passed(int seeds, const Change& change, std::size_t count = 500) {
  int result = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    Samples samples = normal(static_cast<std::uint64_t>(seed), count);
    change(samples);
    result += test_iid(samples, static_cast<std::uint64_t>(seed)).iid ? 1 : 0;
  }
  return result;
}

TEST(Iid, normal_samples_pass) {
  EXPECT_GE(passed(200, [](Samples&) {}), 180);
  EXPECT_GE(passed(
                200, [](Samples&) {}, 60),
            180);
  EXPECT_GE(passed(
                200, [](Samples&) {}, 7),
            180);
}

TEST(Iid, samples_of_a_coarse_clock_pass) {
  EXPECT_GE(passed(100,
                   [](Samples& s) {
                     for (double& x : s) x = std::round(x);
                   }),
            90);
}

TEST(Iid, rare_outliers_pass) {
  const auto spikes = [](Samples& s) {
    for (double& x : s) x = x > 11.9 ? 100 * x : x;
  };
  EXPECT_GE(passed(100, spikes), 90);
}

TEST(Iid, equal_samples_pass) { EXPECT_TRUE(test_iid(Samples(500, 3.0)).iid); }

TEST(Iid, drift_fails) {
  const auto drift = [](Samples& s) {
    for (std::size_t i = 0; i < s.size(); ++i) s[i] += 0.004 * static_cast<double>(i);
  };
  EXPECT_EQ(passed(20, drift), 0);
}

TEST(Iid, a_step_in_the_middle_fails) {
  const auto step = [](Samples& s) {
    for (std::size_t i = s.size() / 2; i < s.size(); ++i) s[i] += 1;
  };
  EXPECT_EQ(passed(20, step), 0);
}

TEST(Iid, periods_fail) {
  for (const std::size_t period : {2, 8, 16, 32}) {
    const auto wave = [&](Samples& s) {
      for (std::size_t i = 0; i < s.size(); i += period) s[i] += 6;
    };
    EXPECT_EQ(passed(10, wave), 0) << "period " << period;
  }
}

TEST(Iid, autocorrelated_samples_fail) {
  const auto correlate = [](Samples& s) {
    for (std::size_t i = 1; i < s.size(); ++i) s[i] = 0.5 * s[i - 1] + 0.5 * s[i];
  };
  EXPECT_EQ(passed(20, correlate), 0);
}

TEST(Iid, few_rising_samples_fail) {
  EXPECT_FALSE(test_iid(Samples{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}).iid);
}

TEST(Iid, a_set_is_tested_in_50_ms) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take several times as long";
#endif
  const auto slowest = [](const Samples& samples) {
    // CPU time of this thread alone: other programs may hold the core.
    const auto seconds = [] {
      timespec now{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
      return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    };
    const double begin = seconds();
    static_cast<void>(test_iid(samples));
    return seconds() - begin;
  };
  double least = 1;
  Samples alternating(500);
  for (std::size_t i = 0; i < alternating.size(); ++i) alternating[i] = static_cast<double>(i % 2);
  for (int i = 0; i < 5; ++i) least = std::min(least, slowest(alternating));
  EXPECT_LT(least, 0.05);
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) sum += slowest(normal(seed));
  EXPECT_LT(sum / 20, 0.05);
}

Samples letters(const std::vector<int>& text) { return {text.begin(), text.end()}; }

TEST(Permutation, statistics_of_a_known_sequence) {
  // Mean 5, median 5: steps + + - - + + - + +, sides - - + + - - + + + +.
  const auto points = points_of(letters({2, 4, 8, 6, 3, 4, 7, 5, 5, 6}));
  const auto of = [&](const char* statistic) { return statistic_of(statistic, points); };
  EXPECT_DOUBLE_EQ(of("excursion"), 4);
  EXPECT_EQ(of("number of directional runs"), 5);
  EXPECT_EQ(of("length of directional runs"), 2);
  EXPECT_EQ(of("number of increases and decreases"), 6);
  EXPECT_EQ(of("number of runs based on the median"), 4);
  EXPECT_EQ(of("length of runs based on the median"), 4);
  EXPECT_DOUBLE_EQ(of("covariance, lag 1"), 3.0 - 3 + 3 - 2 + 2 - 2 + 0 + 0 + 0);
  EXPECT_EQ(of("covariance, lag 32"), 0);
}

TEST(Permutation, collisions_and_periods_count_letters) {
  // Ten samples have two letters: low and high.
  const auto points = points_of(letters({1, 2, 3, 4, 5, 16, 17, 18, 19, 20}));
  EXPECT_EQ(statistic_of("periodicity, lag 1", points), 8);
  EXPECT_EQ(statistic_of("periodicity, lag 8", points), 0);
  // ll | llhh... : 2, 2, 3 (l h h), 2.
  EXPECT_DOUBLE_EQ(statistic_of("average collision", points), 9.0 / 4);
  EXPECT_EQ(statistic_of("maximum collision", points), 3);
  // l ll ll|h.. : the phrases l, ll, llh, h, hh, and one that ends inside the tree (h).
  EXPECT_DOUBLE_EQ(statistic_of("compression", points), 5.5);
}

TEST(ChiSquare, tail_matches_the_tables) {
  EXPECT_NEAR(chi_square_tail(3.841, 1), 0.05, 1e-4);
  EXPECT_NEAR(chi_square_tail(10.828, 1), 0.001, 1e-5);
  EXPECT_NEAR(chi_square_tail(124.342, 100), 0.05, 1e-4);
  EXPECT_NEAR(chi_square_tail(67.328, 100), 0.995, 1e-4);
}

TEST(ChiSquare, too_few_samples_are_not_judged) {
  EXPECT_EQ(independence(normal(1, 30)).degrees, 0);
  EXPECT_EQ(goodness_of_fit(normal(1, 15)).degrees, 0);
  EXPECT_EQ(independence(normal(1)).degrees, 36);
  EXPECT_EQ(goodness_of_fit(normal(1)).degrees, 81);
}

TEST(ChiSquare, finds_pairs_and_parts_that_differ) {
  Samples pairs = normal(3);
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) pairs[i + 1] = pairs[i];
  EXPECT_FALSE(independence(pairs).passed());
  Samples parts = normal(4);
  for (std::size_t i = 0; i < 50; ++i) parts[i] += 2;
  EXPECT_FALSE(goodness_of_fit(parts).passed());
}

}  // namespace
}  // namespace strake::measure
