/// \file  Tests whether samples are independent and identically distributed, by NIST SP 800-90B
/// section 5, for real-valued samples. docs/reference/profile.md says what was adapted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strake::measure {

struct IidVerdict {
  bool iid = true;
  std::string failed;  ///< the first test that they failed, such as "excursion"; empty when iid
};

/// Cost: a few ms for 500 samples, below 50 ms in the worst case. Fewer than 7 samples can't be
/// told apart from anything: they pass. `seed` decides the shuffles.
[[nodiscard]] IidVerdict test_iid(std::span<const double> samples, std::uint64_t seed = 1);

/// \{ The permutation tests (5.1): a statistic of the samples in the order in which they came must
/// not be extreme among those of the same samples shuffled.
struct Point {
  double value = 0;         ///< from the mean
  std::uint8_t symbol = 0;  ///< which quantile of the samples it lies in
  std::int8_t side = 0;     ///< 1 at or above the median, -1 below
};
/// The samples with their symbols: the alphabet grows with their number, so that each letter is
/// there about five times, up to 16 letters.
[[nodiscard]] std::vector<Point> points_of(std::span<const double> samples);
/// One statistic of points in their order, "excursion", "covariance, lag 8". Lags not below their
/// number give 0.
/// \throws InvalidArgument  there is none of this name
[[nodiscard]] double statistic_of(std::string_view name, std::span<const Point> points);
/// \}

/// \{ The chi-square tests (5.2), on samples sorted into bins of equal count.
/// Probability that a chi-square variable of so many degrees of freedom exceeds `value`.
[[nodiscard]] double chi_square_tail(double value, int degrees);

struct ChiSquare {
  double value = 0;
  int degrees = 0;  ///< 0: too few samples for the test
  /// At the standard's level of one in a thousand.
  [[nodiscard]] bool passed() const;
};
/// Tests whether a sample depends on the one before: compares the frequencies of pairs of
/// neighbours, which do not overlap, with the product of the frequencies of their members.
[[nodiscard]] ChiSquare independence(std::span<const double> samples);
/// Tests whether consecutive parts of the samples (ten, or fewer if they would be too small) have
/// the same distribution.
[[nodiscard]] ChiSquare goodness_of_fit(std::span<const double> samples);
/// \}

}  // namespace strake::measure
