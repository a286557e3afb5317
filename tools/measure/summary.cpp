#include "summary.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace strake::measure {

Summary summarize(std::vector<double> samples) {
  if (samples.empty()) throw std::invalid_argument("a summary of no samples was asked for");
  std::sort(samples.begin(), samples.end());
  const auto quantile = [&](double q) {
    const double at = q * static_cast<double>(samples.size() - 1);
    const auto low = static_cast<std::size_t>(at);
    const std::size_t high = std::min(low + 1, samples.size() - 1);
    return samples[low] + (at - static_cast<double>(low)) * (samples[high] - samples[low]);
  };
  return {quantile(0.5), quantile(0.1), quantile(0.9), static_cast<int>(samples.size())};
}

}  // namespace strake::measure
