#include "support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace bench {
namespace {

// Linear interpolation between the closest ranks, of sorted samples.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(at));
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace

Summary summarize(std::vector<double> samples) {
  if (samples.empty()) throw std::invalid_argument("a summary of no samples was asked for");
  std::sort(samples.begin(), samples.end());
  return {quantile(samples, 0.5), quantile(samples, 0.1), quantile(samples, 0.9), samples.size()};
}

}  // namespace bench
