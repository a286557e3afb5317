/// \file  Samples are long enough and many enough, and are taken again until they are i.i.d.
#include "measure/sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <stdexcept>
#include <vector>

#include "strake/error.hpp"

namespace strake::measure {
namespace {

/// An operation whose time is made up, so that the test takes none.
class Pretended {
 public:
  explicit Pretended(double seconds) : seconds_(seconds) {}
  double operator()(std::int64_t iterations) {
    calls.push_back(static_cast<double>(iterations) * seconds_ * noise_(random_));
    return calls.back();
  }
  std::vector<double> calls;

 private:
  double seconds_;
  std::mt19937 random_{7};
  std::normal_distribution<double> noise_{1.0, 0.01};
};

TEST(Sampler, makes_samples_of_200_us) {
  for (const double seconds : {1e-9, 3e-7, 199e-6, 1e-3}) {
    Pretended operation(seconds);
    const Samples samples = sample(std::ref(operation), {});
    EXPECT_GE(samples.p10 * static_cast<double>(samples.iterations), 200e-6) << seconds;
    EXPECT_NEAR(samples.median, seconds, 0.01 * seconds);
    EXPECT_LT(samples.p10, samples.median);
    EXPECT_GT(samples.p90, samples.median);
    EXPECT_EQ(samples.count, kMostSamples);
    EXPECT_TRUE(samples.iid);
    // All of the set that counts: the last ones.
    EXPECT_GE(*std::min_element(operation.calls.end() - kMostSamples, operation.calls.end()),
              200e-6);
  }
}

TEST(Sampler, starts_anew_where_only_the_first_runs_were_slow) {
  int calls = 0;
  Pretended operation(1e-6);
  const Samples samples = sample(
      [&](std::int64_t iterations) { return ++calls <= 3 ? 1e-3 : operation(iterations); }, {});
  EXPECT_GE(samples.iterations, 200);
  EXPECT_NEAR(samples.median, 1e-6, 1e-8);
}

TEST(Sampler, takes_at_least_seven_and_stops_when_the_time_is_up) {
  const auto slow = [](std::int64_t) {
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(3)) {
    }
    return 3e-3;
  };
  Sampling sampling;
  sampling.share_s = 0.01;
  sampling.set_s = 0.001;
  EXPECT_EQ(sample(slow, sampling).count, kLeastSamples);
  sampling.set_s = 0.06;
  const Samples more = sample(slow, sampling);
  EXPECT_GT(more.count, kLeastSamples);
  EXPECT_LE(more.count, 20);
}

TEST(Sampler, tries_drifting_samples_ten_times_and_says_so) {
  double at = 1e-3;
  int calls = 0;
  Sampling sampling;
  sampling.share_s = 100;
  const Samples samples = sample(
      [&](std::int64_t) {
        ++calls;
        return at *= 1.0001;
      },
      sampling);
  EXPECT_FALSE(samples.iid);
  EXPECT_EQ(samples.tries, 10);
  EXPECT_EQ(calls, 2 + 10 * kMostSamples);
}

TEST(Sampler, keeps_the_try_that_was_quiet) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(1e-3, 1e-6);
  int calls = 0;
  Sampling sampling;
  sampling.share_s = 100;
  const Samples samples = sample(
      [&](std::int64_t iterations) {
        ++calls;
        const double drift = calls < 2 + 3 * kMostSamples ? 1e-6 * calls : 0;
        return static_cast<double>(iterations) * (noise(random) + drift);
      },
      sampling);
  EXPECT_TRUE(samples.iid);
  EXPECT_EQ(samples.tries, 4);
  EXPECT_NEAR(samples.median, 1e-3, 1e-6);
}

TEST(Sampler, an_operation_of_no_time_is_an_error) {
  EXPECT_THROW((void)sample([](std::int64_t) { return 0.0; }, {}), Error);
}

TEST(Sampler, what_the_operation_throws_goes_on) {
  EXPECT_THROW((void)sample([](std::int64_t) -> double { throw std::range_error("any"); }, {}),
               std::range_error);
}

}  // namespace
}  // namespace strake::measure
