// Curves, and how a profile's results become one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "machine/profile.hpp"
#include "strake/error.hpp"

namespace strake::machine {
namespace {

/// Ascending values, each 1.1 to 8 times the one before.
std::vector<double> random_axis(std::mt19937& random, std::size_t points) {
  std::uniform_real_distribution<double> step(1.1, 8);
  std::vector<double> axis{step(random)};
  while (axis.size() < points) axis.push_back(axis.back() * step(random));
  return axis;
}

std::vector<double> random_times(std::mt19937& random, std::size_t points) {
  std::lognormal_distribution<double> time(-10, 2);
  std::vector<double> times(points);
  for (double& t : times) t = time(random);
  return times;
}

double between(std::mt19937& random, double low, double high) {
  return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random));
}

constexpr double kRounding = 1e-9;

TEST(Curve, goes_through_its_points) {
  std::mt19937 random(1);
  for (int turn = 0; turn < 100; ++turn) {
    const auto xs = random_axis(random, 1 + random() % 8);
    const auto ys = random_axis(random, random() % 5 + 1);
    const auto line = random_times(random, xs.size());
    const auto grid = random_times(random, xs.size() * ys.size());
    const Curve one(xs, {}, line);
    const Curve two(xs, ys, grid);
    for (std::size_t x = 0; x < xs.size(); ++x) {
      EXPECT_NEAR(one.time(xs[x]) / line[x], 1, kRounding);
      for (std::size_t y = 0; y < ys.size(); ++y) {
        EXPECT_NEAR(two.time(xs[x], ys[y]) / grid[x * ys.size() + y], 1, kRounding);
      }
    }
  }
}

TEST(Curve, rises_or_falls_all_the_way_from_point_to_point) {
  std::mt19937 random(2);
  for (int turn = 0; turn < 300; ++turn) {
    const auto xs = random_axis(random, 6);
    const auto times = random_times(random, 6);
    const Curve curve(xs, {}, times);
    const std::size_t i = random() % 5;
    const double a = between(random, xs[i], xs[i + 1]);
    const double b = between(random, a, xs[i + 1]);
    if (times[i] <= times[i + 1]) {
      EXPECT_LE(curve.time(a), curve.time(b) * (1 + kRounding));
    } else {
      EXPECT_GE(curve.time(a) * (1 + kRounding), curve.time(b));
    }
  }
}

TEST(Curve, stays_within_the_four_points_around) {
  std::mt19937 random(3);
  for (int turn = 0; turn < 300; ++turn) {
    const auto xs = random_axis(random, 5);
    const auto ys = random_axis(random, 4);
    const auto times = random_times(random, 20);
    const Curve curve(xs, ys, times);
    const std::size_t x = random() % 4;
    const std::size_t y = random() % 3;
    const auto corners = {times[x * 4 + y], times[x * 4 + y + 1], times[(x + 1) * 4 + y],
                          times[(x + 1) * 4 + y + 1]};
    const double time =
        curve.time(between(random, xs[x], xs[x + 1]), between(random, ys[y], ys[y + 1]));
    EXPECT_GE(time * (1 + kRounding), std::min(corners));
    EXPECT_LE(time, std::max(corners) * (1 + kRounding));
  }
}

TEST(Curve, is_positive_everywhere) {
  std::mt19937 random(4);
  for (int turn = 0; turn < 300; ++turn) {
    const Curve curve(random_axis(random, 4), random_axis(random, 3), random_times(random, 12));
    EXPECT_GT(curve.time(between(random, 1e-3, 1e18), between(random, 1e-3, 1e12)), 0);
  }
  const Curve steep({1, 2}, {}, {1, 1e-6});
  EXPECT_GT(steep.time(1e9), 0);
}

TEST(Curve, never_ends_below_its_last_time_and_goes_on_at_its_last_rate) {
  std::mt19937 random(5);
  for (int turn = 0; turn < 100; ++turn) {
    const auto xs = random_axis(random, 5);
    const auto times = random_times(random, 5);
    const Curve curve(xs, {}, times);
    const double beyond = between(random, xs.back(), xs.back() * 1e6);
    EXPECT_GE(curve.time(beyond) * (1 + kRounding), times.back());
    EXPECT_NEAR(curve.time(beyond) / (times.back() * beyond / xs.back()), 1, kRounding);
  }
}

TEST(Curve, holds_its_first_time_below_and_its_end_blocks_beside) {
  const Curve curve({64, 1024}, {4, 16}, {1, 2, 3, 4});
  EXPECT_NEAR(curve.time(1, 4), 1, kRounding);
  EXPECT_NEAR(curve.time(0, 4), 1, kRounding);
  EXPECT_NEAR(curve.time(64, 1), 1, kRounding);
  EXPECT_NEAR(curve.time(64, 1e6), 2, kRounding);
  EXPECT_NEAR(curve.time(4096, 1e6), 16, kRounding);
}

TEST(Curve, refuses_what_is_none) {
  EXPECT_THROW(Curve({}, {}, {}), InvalidArgument);
  EXPECT_THROW(Curve({1, 2}, {}, {1}), InvalidArgument);
  EXPECT_THROW(Curve({1, 2}, {1, 2}, {1, 2, 3}), InvalidArgument);
  EXPECT_THROW(Curve({2, 1}, {}, {1, 2}), InvalidArgument);
  EXPECT_THROW(Curve({1, 1}, {}, {1, 2}), InvalidArgument);
  EXPECT_THROW(Curve({1, 2}, {}, {1, 0}), InvalidArgument);
  EXPECT_THROW(Curve({1, 2}, {}, {1, -1}), InvalidArgument);
  EXPECT_THROW(Curve({0, 2}, {}, {1, 1}), InvalidArgument);
  EXPECT_THROW(Curve({1, std::nan("")}, {}, {1, 1}), InvalidArgument);
  EXPECT_TRUE(Curve().empty());
  EXPECT_EQ(Curve().time(1), std::numeric_limits<double>::infinity());
}

Result measured(const std::string& name, std::int64_t bytes, std::int64_t block, std::int64_t pitch,
                double median, const std::string& mpi = {}) {
  Result result;
  result.name = name;
  result.mpi = mpi;
  result.bytes = bytes;
  result.block = block;
  result.pitch = pitch;
  result.median = median;
  return result;
}

TEST(ProfileCurve, takes_the_results_of_one_name_library_and_pitch) {
  Profile profile;
  profile.results = {measured("a", 64, 0, 0, 1), measured("b", 64, 0, 0, 2),
                     measured("a", 64, 0, 0, 3, "M 1"), measured("p", 64, 8, 16, 4),
                     measured("p", 64, 8, 128, 5)};
  EXPECT_NEAR(profile.curve("a").time(64), 1, kRounding);
  EXPECT_NEAR(profile.curve("b").time(64), 2, kRounding);
  EXPECT_NEAR(profile.curve("a", "M 1").time(64), 3, kRounding);
  const auto at = [](std::int64_t pitch) {
    return [pitch](const Result& result) { return result.pitch == pitch; };
  };
  EXPECT_NEAR(profile.curve("p", {}, at(16)).time(64, 8), 4, kRounding);
  EXPECT_NEAR(profile.curve("p", {}, at(128)).time(64, 8), 5, kRounding);
  EXPECT_TRUE(profile.curve("p", {}, at(32)).empty());
  EXPECT_TRUE(profile.curve("a", "M 2").empty());
  EXPECT_TRUE(profile.curve("c").empty());
}

TEST(ProfileCurve, takes_the_later_of_two_and_nothing_without_bytes_or_time) {
  Profile profile;
  profile.results = {measured("a", 64, 0, 0, 1), measured("a", 64, 0, 0, 2),
                     measured("a", 0, 0, 0, 3), measured("a", 128, 0, 0, 0)};
  const Curve curve = profile.curve("a");
  EXPECT_NEAR(curve.time(64), 2, kRounding);
  EXPECT_NEAR(curve.time(128), 4, kRounding);  // 64's rate: 128 has no time of its own
}

TEST(ProfileCurve, fills_the_holes_of_the_grid) {
  // Blocks:        8    64   512
  //    64 bytes    1    2    -     longer blocks than the message: as the longest there
  //   512 bytes    -    4    6     between its neighbours along the sizes
  //  4096 bytes    4    8    12
  // 32768 bytes    -    -    96    at the last rate
  Profile profile;
  profile.results = {measured("p", 64, 8, 16, 1),        measured("p", 64, 64, 128, 2),
                     measured("p", 512, 64, 128, 4),     measured("p", 512, 512, 1024, 6),
                     measured("p", 4096, 8, 16, 4),      measured("p", 4096, 64, 128, 8),
                     measured("p", 4096, 512, 1024, 12), measured("p", 32768, 512, 1024, 96),
                     measured("p", 32768, 0, 0, 1)};  // contiguous: no point of the grid
  const Curve curve = profile.curve("p");
  EXPECT_NEAR(curve.time(64, 512), 2, kRounding);
  EXPECT_NEAR(curve.time(512, 8), 2, kRounding);
  EXPECT_NEAR(curve.time(32768, 8), 32, kRounding);
  EXPECT_NEAR(curve.time(32768, 64), 64, kRounding);
  EXPECT_NEAR(curve.time(32768, 512), 96, kRounding);
  EXPECT_NEAR(curve.time(4096, 64), 8, kRounding);
}

/// Sizes 64, 256, ... 65536 at 1 ns a byte, in blocks of 8 and 64 bytes or contiguous; those whose
/// place `doubtful` names take `absurd`.
Profile with_doubtful(const std::vector<int>& doubtful, double absurd, bool blocks) {
  Profile profile;
  for (int place = 0; place < 6; ++place) {
    for (const std::int64_t block : {8, 64}) {
      const std::int64_t bytes = std::int64_t{64} << (2 * place);
      Result result = measured("p", bytes, blocks ? block : 0, blocks ? 2 * block : 0,
                               1e-9 * static_cast<double>(bytes));
      if (block == 8 && std::find(doubtful.begin(), doubtful.end(), place) != doubtful.end()) {
        result.doubtful = "other processes used 2.0 of 2 CPUs";
        result.median = absurd;
      }
      if (blocks || block == 8) profile.results.push_back(result);
    }
  }
  return profile;
}

TEST(ProfileCurve, goes_past_a_doubtful_point_from_the_one_before_to_the_one_after) {
  for (const bool blocks : {false, true}) {
    for (const double absurd : {1e-15, 1e3}) {
      const Curve curve = with_doubtful({2}, absurd, blocks).curve("p");
      for (const double bytes : {256.0, 300.0, 1024.0, 3000.0, 4096.0})
        EXPECT_NEAR(curve.time(bytes, 8) / bytes / 1e-9, 1, kRounding) << bytes;
    }
  }
}

TEST(ProfileCurve, is_not_known_where_doubtful_points_have_no_other_on_both_sides) {
  for (const bool blocks : {false, true}) {
    const Curve curve = with_doubtful({0, 2, 3, 5}, 1e3, blocks).curve("p");
    for (const double bytes :
         {1.0, 64.0, 100.0, 300.0, 1024.0, 2000.0, 4096.0, 9000.0, 20000.0, 65536.0, 1e9})
      EXPECT_TRUE(std::isnan(curve.time(bytes, 8))) << bytes;
    EXPECT_NEAR(curve.time(256, 8), 256e-9, kRounding * 256e-9);
    EXPECT_NEAR(curve.time(16384, 8), 16384e-9, kRounding * 16384e-9);
    if (blocks) {
      EXPECT_NEAR(curve.time(1024, 64), 1024e-9, kRounding * 1024e-9);
    }
  }
  EXPECT_TRUE(with_doubtful({0, 1, 2, 3, 4, 5}, 1e3, false).curve("p").empty());
}

TEST(ProfileCurve, of_two_results_for_a_point_takes_the_one_that_is_not_doubtful) {
  Profile profile;
  profile.results = {measured("a", 64, 0, 0, 1), measured("a", 64, 0, 0, 2)};
  profile.results[1].doubtful = "a reference copy took 2.0 times its usual time";
  EXPECT_NEAR(profile.curve("a").time(64), 1, kRounding);
  std::swap(profile.results[0], profile.results[1]);
  EXPECT_NEAR(profile.curve("a").time(64), 1, kRounding);
}

}  // namespace
}  // namespace strake::machine
