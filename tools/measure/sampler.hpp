/// \file  Takes samples of an operation until they may be taken for i.i.d., or the time is up.
/// The clock (timing.hpp), the percentiles and the spread (summary.hpp) are also the benchmarks'.
/// How many calls a sample has, and how many samples there are, is not: a benchmark plans both
/// before its first sample (bench/support/sampling.hpp), since several bodies, and several jobs,
/// take turns by one plan. A profile measures one operation at a time, whose time may be a
/// device's, so samples become longer, and sets are taken again, as the samples before them say.
#pragma once

#include <cstdint>
#include <functional>

#include "summary.hpp"

namespace strake::measure {

struct Sampling {
  double share_s = 1;        ///< for all sets of one case; the first is taken in any case
  double set_s = 1;          ///< one set ends after this time, with kLeastSamples at least
  double sample_s = 200e-6;  ///< the least work of a sample: 1000 times a clock's error of 200 ns
  int most_tries = 10;       ///< the standard gives no number; more rarely help
};
inline constexpr int kLeastSamples = 7;
inline constexpr int kMostSamples = 500;

/// Times of one operation, in seconds.
struct Samples : Summary {
  bool iid = false;
  int tries = 0;
  std::int64_t iterations = 0;  ///< operations in a sample
};

/// Seconds that `iterations` operations took, as Instance::run gives them.
using TimedRun = std::function<double(std::int64_t iterations)>;

/// If all sets fail the tests, the result is the set with the smallest spread, as the least
/// disturbed one. Exceptions of `run` are passed on.
/// \throws Error  the operation takes no time.
[[nodiscard]] Samples sample(const TimedRun& run, const Sampling& sampling);

}  // namespace strake::measure
