/// \file  The chi-square tests of SP 800-90B section 5.2, on real-valued samples sorted into bins
/// of equal count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace strake::measure {

/// Probability that a chi-square variable of so many degrees of freedom exceeds `value`.
[[nodiscard]] double chi_square_tail(double value, int degrees);

struct ChiSquare {
  double value = 0;
  int degrees = 0;  ///< 0: too few samples for the test
  /// At the standard's level of one in a thousand.
  [[nodiscard]] bool passed() const;
};

/// Tests whether a sample depends on the one before: compares the frequencies of pairs of
/// neighbours, which do not overlap, with the product of the frequencies of their members.
[[nodiscard]] ChiSquare independence(std::span<const double> samples);
/// Tests whether consecutive parts of the samples (ten, or fewer if they would be too small) have
/// the same distribution.
[[nodiscard]] ChiSquare goodness_of_fit(std::span<const double> samples);

}  // namespace strake::measure
