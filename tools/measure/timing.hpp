/// \file  Wall time of calls: the one loop in which `strake measure` and the benchmarks time a
/// body.
#pragma once

#include <chrono>
#include <cstdint>

namespace strake::measure {

/// Wall time since it was made. [s]
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

/// Seconds that `calls` calls of `body` take together.
template <typename Body>
double time_calls(std::int64_t calls, Body&& body) {
  const Stopwatch watch;
  for (std::int64_t i = 0; i < calls; ++i) body();
  return watch.seconds();
}

/// Sum of the seconds that `calls` calls of `once` return, for operations that time a part of
/// themselves.
template <typename Once>
double sum_calls(std::int64_t calls, Once&& once) {
  double seconds = 0;
  for (std::int64_t i = 0; i < calls; ++i) seconds += once();
  return seconds;
}

}  // namespace strake::measure
