/// \file  Summaries of a set of samples.
#pragma once

#include <cstddef>
#include <vector>

namespace bench {

/// Median and the 10th and 90th percentile, in the samples' unit.
struct Summary {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  std::size_t samples = 0;
};

/// \throws std::invalid_argument  no samples.
Summary summarize(std::vector<double> samples);

}  // namespace bench
