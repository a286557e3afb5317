/// \file  The permutation tests of SP 800-90B section 5.1: a statistic of the samples in the order
/// in which they came must not be extreme among those of the same samples shuffled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strake::measure {

enum class Statistic : std::uint8_t {
  Excursion,
  DirectionalRuns,
  LongestDirectionalRun,
  IncreasesDecreases,
  MedianRuns,
  LongestMedianRun,
  AverageCollision,
  MaximumCollision,
  Periodicity1,
  Periodicity2,
  Periodicity8,
  Periodicity16,
  Periodicity32,
  Covariance1,
  Covariance2,
  Covariance8,
  Covariance16,
  Covariance32,
  Compression,
};
inline constexpr std::size_t kStatistics = 19;
inline constexpr std::array<std::size_t, 5> kLags = {1, 2, 8, 16, 32};
[[nodiscard]] const char* name_of(Statistic statistic) noexcept;

/// One sample as the statistics read it.
struct Point {
  double value = 0;         ///< from the mean
  std::uint8_t symbol = 0;  ///< which quantile of the samples it lies in
  std::int8_t side = 0;     ///< 1 at or above the median, -1 below
};

/// The samples with their symbols: the alphabet grows with their number, so that each letter is
/// there about five times, up to 16 letters.
[[nodiscard]] std::vector<Point> points_of(std::span<const double> samples);

/// One statistic of points in their order. Lags not below their number give 0.
[[nodiscard]] double statistic_of(Statistic statistic, std::span<const Point> points);

/// The first statistic that is extreme, or kStatistics where none is.
[[nodiscard]] std::size_t extreme_statistic(std::span<const double> samples, std::uint64_t seed);

}  // namespace strake::measure
