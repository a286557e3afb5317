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

}  // namespace strake::measure
