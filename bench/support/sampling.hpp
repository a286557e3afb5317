/// \file  Loops that time a body, or several by turns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "measure/timing.hpp"
#include "support/turns.hpp"

namespace bench {

using strake::measure::Stopwatch;
using strake::measure::time_calls;

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
double mean_call(int calls, Body&& body) {
  return time_calls(calls, body) / calls;
}

/// The plan for a body, which is tried. `agree` may change each plan that a trial gives.
template <typename Body, typename Agree>
Plan plan_of(const Budget& budget, Body&& body, Agree&& agree) {
  body();  // first touch of pages, plans and code
  const Plan trial = agree(plan_for(mean_call(3, body), budget));
  return agree(plan_for(mean_call(trial.calls, body), budget));
}
template <typename Body>
Plan plan_of(const Budget& budget, Body&& body) {
  return plan_of(budget, body, [](const Plan& plan) { return plan; });
}

/// Appends seconds per call, one value a sample, caches as the body itself leaves them.
template <typename Body>
void take_samples(const Plan& plan, Body&& body, std::vector<double>& to) {
  for (int i = 0; i < plan.samples; ++i) to.push_back(mean_call(plan.calls, body));
}

/// Rounds in which things are sampled by turns: clocks and other changes of the machine meet all of
/// them alike.
struct Rounds {
  int count = 1;
  int warm_ups = 0;      ///< rounds of one sample each that come before and do not count
  bool rotated = false;  ///< another thing is first in each round
};

/// Samples of several things by their plans: `take(which, part, to)` appends the samples of a part
/// of one's plan, about equal in all rounds.
template <typename Take>
std::vector<std::vector<double>> sample_by_turns(const std::vector<Plan>& plans,
                                                 const Rounds& rounds, Take&& take) {
  std::vector<std::vector<double>> samples(plans.size());
  for (int round = -rounds.warm_ups; round < rounds.count; ++round) {
    if (round == 0) {
      for (std::size_t i = 0; i < plans.size(); ++i) {
        samples[i].clear();
        samples[i].reserve(static_cast<std::size_t>(plans[i].samples));
      }
    }
    const auto first = static_cast<std::size_t>(rounds.rotated ? std::max(round, 0) : 0);
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const std::size_t which = (first + i) % plans.size();
      const auto& [calls, all] = plans[which];
      const int before = all * round / rounds.count;
      const int part = round < 0 ? 1 : all * (round + 1) / rounds.count - before;
      take(which, Plan{calls, part}, samples[which]);
    }
  }
  return samples;
}

/// Seconds of a call of each body, by turns in this order.
template <typename... Bodies>
std::vector<std::vector<double>> time_by_turns(const Rounds& rounds, Bodies&&... bodies) {
  const std::vector<Plan> plans(sizeof...(bodies), Plan{1, rounds.count});
  return sample_by_turns(plans, rounds,
                         [&](std::size_t which, const Plan& /*part*/, std::vector<double>& to) {
                           std::size_t at = 0;
                           ((at++ == which ? to.push_back(time_calls(1, bodies)) : void()), ...);
                         });
}

/// Takes samples by the plan that the budget allows, in turn with other jobs if there are any.
template <typename Body>
std::vector<double> sample(const Budget& budget, Body&& body) {
  Turns::instance().next();
  std::vector<double> seconds;
  take_samples(plan_of(budget, body), body, seconds);
  return seconds;
}

}  // namespace bench
