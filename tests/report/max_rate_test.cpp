// The fit of the max-rate model finds the parameters of times that were made by it.
#include "report/max_rate.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "made_up.hpp"

namespace strake::report {
namespace {

/// Times of a library with two protocols, with errors of up to `noise`.
std::vector<PairTime> times(double noise, const std::vector<std::int64_t>& pairs) {
  std::vector<PairTime> list;
  int sign = 1;
  for (std::int64_t n = 1; n <= 16 << 20; n *= 4) {
    for (const std::int64_t k : pairs) {
      const auto bytes = static_cast<double>(n);
      const bool eager = n <= 4096;
      const double slope = eager ? 1 / 2e9 : std::max(1 / 10e9, static_cast<double>(k) / 25e9);
      sign = -sign;
      list.push_back({n, k, ((eager ? 1e-6 : 9e-6) + bytes * slope) * (1 + sign * noise)});
    }
  }
  return list;
}

TEST(MaxRate, finds_the_parameters_and_the_protocols) {
  const auto model = fit_max_rate(times(0, {1, 2, 4, 8}));
  ASSERT_EQ(model.size(), 2U);
  EXPECT_EQ(model[0].last, 4096);
  EXPECT_NEAR(model[0].latency, 1e-6, 1e-9);
  EXPECT_NEAR(model[0].rate, 2e9, 2e6);
  EXPECT_EQ(model[0].injection_rate, 0);
  EXPECT_EQ(model[1].first, 16384);
  EXPECT_NEAR(model[1].latency, 9e-6, 9e-9);
  EXPECT_NEAR(model[1].rate, 10e9, 1e7);
  EXPECT_NEAR(model[1].injection_rate, 25e9, 25e6);
  EXPECT_LT(model[1].worst_error, 1e-6);
}

TEST(MaxRate, residuals_are_those_of_the_times) {
  const auto model = fit_max_rate(times(0.05, {1, 2, 4, 8}));
  ASSERT_FALSE(model.empty());
  EXPECT_NEAR(model.back().injection_rate, 25e9, 0.1 * 25e9);
  for (const MaxRate& range : model) {
    EXPECT_GT(range.worst_error, 0.01);
    EXPECT_LT(range.worst_error, 0.15);
    EXPECT_LE(range.median_error, range.worst_error);
  }
}

TEST(MaxRate, injection_is_not_reached_where_pairs_do_not_slow_each_other) {
  std::vector<PairTime> list;
  for (std::int64_t n = 64; n <= 1 << 20; n *= 4)
    for (const std::int64_t k : {1, 2, 4})
      list.push_back({n, k, 1e-6 + static_cast<double>(n) / 5e9});
  const auto model = fit_max_rate(list);
  ASSERT_EQ(model.size(), 1U);
  EXPECT_EQ(model[0].injection_rate, 0);
  EXPECT_NEAR(model[0].rate, 5e9, 5e6);
}

TEST(MaxRate, needs_three_sizes_and_times_that_make_sense) {
  EXPECT_TRUE(fit_max_rate({}).empty());
  EXPECT_TRUE(fit_max_rate({{1, 1, 1e-6}, {4, 1, 1e-6}}).empty());
  EXPECT_TRUE(fit_max_rate({{1, 1, 0}, {4, 1, 1e-6}, {16, 1, -1}, {64, 1, 1e-6}}).empty());
}

TEST(MaxRate, takes_pairs_and_single_messages_of_one_library) {
  auto profile = report_test::made_up("host", 0, 1);
  profile.results.push_back(profile.results.back());
  const auto list = pair_times(profile, "Open MPI 4.1.4", "node");
  EXPECT_EQ(list.size(), 13U * 4U);  // 1 B to 16 MiB, 1 to 8 pairs; "host" adds none
  EXPECT_EQ(pair_times(profile, "Open MPI 4.1.4", "net").size(), 13U);  // "host" alone
  EXPECT_TRUE(pair_times(profile, "MPICH 4.0.2", "node").empty());
}

}  // namespace
}  // namespace strake::report
