#include "sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "case.hpp"
#include "statistics.hpp"
#include "strake/error.hpp"

namespace strake::measure {
namespace {

// Aimed at above the least, so that quick samples are still long enough.
constexpr double kMargin = 1.3;
// A disturbance of a set (ticks of the scheduler, every 1 to 4 ms, clocks that change) touches
// neighbouring samples alike. Longer samples average over it, so each further try has them.
constexpr double kLongerByTry = 1.5;
constexpr double kLongest = 40;       // times the least: 8 ms, past the slowest tick
constexpr int kMostLengthenings = 4;  // of samples that turn out too short once they are warm
constexpr std::int64_t kMostIterations = std::int64_t{1} << 40;

/// So many times more operations that `took` becomes the least work.
std::int64_t lengthened(std::int64_t iterations, double took, const Sampling& sampling) {
  // At most a hundredfold: a short time is mostly the clock's error.
  const double factor =
      std::clamp(kMargin * sampling.sample_s / std::max(took, 1e-12), 1.01, 100.0);
  if (iterations >= kMostIterations) {
    throw Error(fmt::format("{} operations take {} s: nothing to measure", iterations, took));
  }
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(iterations) * factor));
}

std::int64_t calibrate(const TimedRun& run, const Sampling& sampling) {
  std::int64_t iterations = 1;
  run(iterations);  // the first is cold
  for (double took = run(iterations); took < sampling.sample_s; took = run(iterations)) {
    iterations = lengthened(iterations, took, sampling);
  }
  return iterations;
}

Samples set_of(std::vector<double> times, std::int64_t iterations, std::uint64_t seed) {
  Samples set;
  set.iid = test_iid(times, seed).iid;
  set.iterations = iterations;
  for (double& time : times) time /= static_cast<double>(iterations);
  static_cast<Summary&>(set) = summarize(std::move(times));
  return set;
}

}  // namespace

Samples sample(const TimedRun& run, const Sampling& sampling) {
  const Stopwatch begin;
  std::int64_t iterations = calibrate(run, sampling);
  Samples best;
  int lengthenings = 0;
  for (int tries = 1;; ++tries) {
    const Stopwatch set_begin;
    std::vector<double> times;
    times.reserve(kMostSamples);
    while (times.size() < kMostSamples &&
           (times.size() < kLeastSamples || set_begin.seconds() < sampling.set_s)) {
      times.push_back(run(iterations));
      if (times.back() < sampling.sample_s && lengthenings < kMostLengthenings) {
        iterations = lengthened(iterations, times.back(), sampling);
        ++lengthenings;
        times.clear();
      }
    }
    const Samples set = set_of(times, iterations, static_cast<std::uint64_t>(tries));
    if (tries == 1 || set.iid || relative_spread(set) < relative_spread(best)) best = set;
    best.tries = tries;
    const bool time_for_another = begin.seconds() + set_begin.seconds() < sampling.share_s;
    if (set.iid || tries >= sampling.most_tries || !time_for_another) return best;
    if (times.back() < kLongest * sampling.sample_s) {
      iterations =
          static_cast<std::int64_t>(std::ceil(static_cast<double>(iterations) * kLongerByTry));
    }
  }
}

}  // namespace strake::measure
