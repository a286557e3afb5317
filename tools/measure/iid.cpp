#include "iid.hpp"

#include "chi_square.hpp"
#include "permutation.hpp"

namespace strake::measure {

IidVerdict test_iid(std::span<const double> samples, std::uint64_t seed) {
  constexpr std::size_t kLeast = 7;  // with fewer no order is rarer than one in a thousand
  if (samples.size() < kLeast) return {};
  // The cheap ones first.
  if (!independence(samples).passed()) return {false, "independence"};
  if (!goodness_of_fit(samples).passed()) return {false, "goodness of fit"};
  const std::size_t extreme = extreme_statistic(samples, seed);
  if (extreme < kStatistics) return {false, name_of(static_cast<Statistic>(extreme))};
  return {};
}

}  // namespace strake::measure
