/// \file  Loops that time a body.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "support/turns.hpp"

namespace bench {

/// Seconds of a clock that never goes back.
inline double now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// How long to measure one thing.
struct Budget {
  double seconds = 0.03;          ///< all samples together, unless min_samples takes longer
  double sample_seconds = 40e-6;  ///< one sample at least: a thousand times the clock's own ~25 ns
  int min_samples = 9;
  int max_samples = 400;
};

/// Calls per sample and number of samples that a budget allows.
struct Plan {
  int calls = 1;
  int samples = 1;
};

/// The plan for a body that takes `call_seconds`.
inline Plan plan_for(double call_seconds, const Budget& budget) {
  const double call = std::max(call_seconds, 1e-9);
  const double calls = std::ceil(budget.sample_seconds / call);
  Plan plan;
  plan.calls = static_cast<int>(std::clamp(calls, 1.0, 1e6));
  const double samples = budget.seconds / (call * plan.calls);
  plan.samples =
      static_cast<int>(std::clamp(samples, double(budget.min_samples), double(budget.max_samples)));
  return plan;
}

/// Seconds per call, the mean of `calls` calls.
template <typename Body>
double time_calls(int calls, Body&& body) {
  const double start = now();
  for (int i = 0; i < calls; ++i) body();
  return (now() - start) / calls;
}

/// Seconds per call, one value a sample, caches as the body itself leaves them.
template <typename Body>
std::vector<double> take_samples(const Plan& plan, Body&& body) {
  std::vector<double> seconds;
  seconds.reserve(static_cast<std::size_t>(plan.samples));
  for (int i = 0; i < plan.samples; ++i) seconds.push_back(time_calls(plan.calls, body));
  return seconds;
}

/// Takes samples by the plan that the budget allows, in turn with other jobs if there are any.
template <typename Body>
std::vector<double> sample(const Budget& budget, Body&& body) {
  Turns::instance().next();
  body();  // first touch of pages, plans and code
  const int trial = plan_for(time_calls(1, body), budget).calls;
  return take_samples(plan_for(time_calls(trial, body), budget), body);
}

}  // namespace bench
