#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace strake::run {
namespace {

/// A difference that nobody would care for, though many quiet runs may show it.
constexpr double kNegligible = 0.01;

/// Half of what is left of 95 %.
constexpr double kTail = 0.025;

/// How many of the ratios, at either end, the interval leaves out; nothing if it would have to have
/// all and more. Mann and Whitney's U of two samples of one distribution is u in as many of the
/// C(n+m, n) orders as there are partitions of u into at most m parts of at most n each: the
/// coefficients of the product of (1 - x^(n+i)) / (1 - x^i) for i = 1 … m.
std::optional<std::size_t> left_out(std::size_t n, std::size_t m) {
  const std::size_t size = n * m + 1;
  std::vector<double> orders(size, 0.0);
  orders[0] = 1;
  for (std::size_t i = 1; i <= m; ++i) {
    for (std::size_t u = size; u-- > n + i;) orders[u] -= orders[u - n - i];
    for (std::size_t u = i; u < size; ++u) orders[u] += orders[u - i];
  }
  double all = 1;
  for (std::size_t i = 1; i <= m; ++i) all *= static_cast<double>(n + i) / static_cast<double>(i);
  std::size_t out = 0;
  for (double below = orders[0]; below <= kTail * all; below += orders[out]) ++out;
  if (out == 0) return std::nullopt;
  return out - 1;
}

double median_of_sorted(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 != 0 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {median_of_sorted(values), values.front(), values.back()};
}

std::string_view name_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::Faster:
      return "faster";
    case Verdict::Slower:
      return "slower";
    case Verdict::NoDifference:
      return "no difference";
    case Verdict::TooFew:
      break;
  }
  return "too few runs";
}

Verdict Ratio::verdict() const noexcept {
  if (!interval) return Verdict::TooFew;
  if (std::abs(value - 1) < kNegligible) return Verdict::NoDifference;
  if (interval->low > 1) return Verdict::Faster;
  return interval->high < 1 ? Verdict::Slower : Verdict::NoDifference;
}

Ratio ratio_of(const std::vector<double>& alone, const std::vector<double>& under) {
  Ratio ratio;
  ratio.value = spread_of(alone).median / spread_of(under).median;
  const auto out = left_out(alone.size(), under.size());
  if (!out) return ratio;
  std::vector<double> ratios;
  for (const double a : alone) {
    for (const double u : under) ratios.push_back(a / u);
  }
  std::sort(ratios.begin(), ratios.end());
  // The ratio of the medians lies outside in odd cases of many runs.
  ratio.interval = Interval{std::min(ratios[*out], ratio.value),
                            std::max(ratios[ratios.size() - 1 - *out], ratio.value)};
  return ratio;
}

}  // namespace strake::run
