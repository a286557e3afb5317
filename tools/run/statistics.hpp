/// \file  Statistics of a few runs of two kinds: medians, their ratio, whether it differs from 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace strake::run {

/// Median and range of at least one measurement.
struct Spread {
  double median = 0;
  double low = 0;   ///< the smallest
  double high = 0;  ///< the largest
};
[[nodiscard]] Spread spread_of(std::vector<double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

enum class Verdict : std::uint8_t {
  Faster,
  Slower,
  NoDifference,  ///< that so many runs can show
  TooFew,        ///< so few runs can't show any difference
};
[[nodiscard]] std::string_view name_of(Verdict verdict) noexcept;

/// How many times longer the runs alone take.
struct Ratio {
  double value = 1;  ///< of the medians
  /// With 95 % confidence. Nothing: too few runs, see kFewestRuns.
  std::optional<Interval> interval;
  [[nodiscard]] Verdict verdict() const noexcept;
};

/// Runs of each kind: with fewer, the interval can't exclude 1.
inline constexpr int kFewestRuns = 4;
inline constexpr int kMostRuns = 100;

/// The interval of the Mann-Whitney test, which assumes nothing of how the times are distributed:
/// from the k-th smallest to the k-th largest of the ratios of any time alone to any time under
/// Strake. The times are positive; of each kind there are 1 to kMostRuns.
[[nodiscard]] Ratio ratio_of(const std::vector<double>& alone, const std::vector<double>& under);

}  // namespace strake::run
