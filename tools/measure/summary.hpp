/// \file  Summary of a set of samples, in `strake measure` and in the benchmarks.
#pragma once

#include <vector>

namespace strake::measure {

/// Median and the 10th and 90th percentile, in the samples' unit.
struct Summary {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  int count = 0;
};

/// Percentiles between two samples are interpolated. \throws std::invalid_argument  no samples
[[nodiscard]] Summary summarize(std::vector<double> samples);

/// Half the distance from p10 to p90 of a Summary, or of a result of a profile, as a part of its
/// median.
template <typename Percentiles>
[[nodiscard]] double relative_spread(const Percentiles& of) noexcept {
  return (of.p90 - of.p10) / 2 / of.median;
}

}  // namespace strake::measure
