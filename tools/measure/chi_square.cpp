#include "chi_square.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace strake::measure {
namespace {

constexpr double kLevel = 0.001;       // the standard's
constexpr std::size_t kExpected = 5;   // the least count for which chi-square holds, the standard's
constexpr std::size_t kParts = 10;     // the standard's
constexpr std::size_t kMostBins = 10;  // more tell nothing further of 500 samples

/// For each sample its bin among `bins` of about equal count. Equal samples share a bin.
std::vector<std::size_t> bins_of(std::span<const double> samples, std::size_t bins) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::size_t> result;
  result.reserve(samples.size());
  for (const double sample : samples) {
    const auto rank = static_cast<std::size_t>(
        std::lower_bound(sorted.begin(), sorted.end(), sample) - sorted.begin());
    result.push_back(rank * bins / samples.size());
  }
  return result;
}

/// Counts against what rows and columns of the same sums would have if they had nothing to do with
/// each other. Rows and columns of nothing are left out.
ChiSquare contingency(const std::vector<double>& counts, std::size_t rows, std::size_t columns) {
  std::vector<double> of_row(rows), of_column(columns);
  double total = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      of_row[r] += counts[r * columns + c];
      of_column[c] += counts[r * columns + c];
      total += counts[r * columns + c];
    }
  }
  ChiSquare result;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      const double expected = of_row[r] * of_column[c] / total;
      if (expected == 0) continue;
      const double difference = counts[r * columns + c] - expected;
      result.value += difference * difference / expected;
    }
  }
  const auto used = [](const std::vector<double>& sums) {
    return static_cast<int>(sums.size()) -
           static_cast<int>(std::count(sums.begin(), sums.end(), 0.0));
  };
  result.degrees = (used(of_row) - 1) * (used(of_column) - 1);
  return result;
}

}  // namespace

double chi_square_tail(double value, int degrees) {
  if (value <= 0 || degrees <= 0) return 1;
  // The regularised upper incomplete gamma function, by its series below a + 1 and by its continued
  // fraction (Lentz) above, where each converges within a few dozen terms.
  const double a = degrees / 2.0;
  const double x = value / 2;
  const double front = std::exp(a * std::log(x) - x - std::lgamma(a));
  constexpr double kPrecision = 1e-12;
  if (x < a + 1) {
    double term = 1 / a;
    double sum = term;
    for (double k = a + 1; term > sum * kPrecision; ++k) sum += term *= x / k;
    return 1 - front * sum;
  }
  constexpr double kTiny = 1e-300;  // in place of a zero denominator
  double b = x + 1 - a;
  double c = 1 / kTiny;
  double d = 1 / b;
  double fraction = d;
  for (int k = 1; k < 1000; ++k) {
    const double numerator = -k * (k - a);
    b += 2;
    d = numerator * d + b;
    d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
    c = b + numerator / c;
    if (std::fabs(c) < kTiny) c = kTiny;
    const double factor = c * d;
    fraction *= factor;
    if (std::fabs(factor - 1) < kPrecision) break;
  }
  return front * fraction;
}

bool ChiSquare::passed() const { return degrees < 1 || chi_square_tail(value, degrees) >= kLevel; }

ChiSquare independence(std::span<const double> samples) {
  const std::size_t pairs = samples.size() / 2;
  const std::size_t cells = pairs / kExpected;
  const auto bins =
      std::min(kMostBins, static_cast<std::size_t>(std::sqrt(static_cast<double>(cells))));
  if (bins < 2) return {};
  const std::vector<std::size_t> bin = bins_of(samples, bins);
  std::vector<double> counts(bins * bins);
  for (std::size_t i = 0; i < pairs; ++i) ++counts[bin[2 * i] * bins + bin[2 * i + 1]];
  return contingency(counts, bins, bins);
}

ChiSquare goodness_of_fit(std::span<const double> samples) {
  const std::size_t n = samples.size();
  const std::size_t parts = std::min(kParts, n / (2 * kExpected));
  if (parts < 2) return {};
  const std::size_t bins = std::clamp<std::size_t>(n / parts / kExpected, 2, kMostBins);
  const std::vector<std::size_t> bin = bins_of(samples, bins);
  std::vector<double> counts(parts * bins);
  for (std::size_t i = 0; i < n; ++i) ++counts[(i * parts / n) * bins + bin[i]];
  return contingency(counts, parts, bins);
}

}  // namespace strake::measure
