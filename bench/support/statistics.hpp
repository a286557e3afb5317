/// \file  Samples in the units of the lines, and their summaries.
#pragma once

#include <utility>
#include <vector>

#include "measure/summary.hpp"

namespace bench {

using strake::measure::summarize;
using strake::measure::Summary;

inline std::vector<double> scaled(std::vector<double> samples, double factor) {
  for (double& sample : samples) sample *= factor;
  return samples;
}

inline std::vector<double> to_microseconds(std::vector<double> seconds) {
  return scaled(std::move(seconds), 1e6);
}

/// [GB/s] for samples in seconds in which so many bytes moved.
inline std::vector<double> gigabytes_per_s(std::vector<double> seconds, double bytes) {
  for (double& sample : seconds) sample = bytes / sample * 1e-9;
  return seconds;
}

}  // namespace bench
