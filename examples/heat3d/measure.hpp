/// \file  How long the steps of a solver take, or its exchanges alone.
#pragma once

#include <cstdint>
#include <optional>

#include "heat3d/options.hpp"
#include "heat3d/problem.hpp"
#include "heat3d/solver.hpp"

/// The result of all ranks: each time is the maximum of their medians.
struct Result {
  Form form = Form::Layout;
  bool exchange_only = false;  ///< steps are exchanges, and compute nothing
  std::int64_t size = 0;
  std::int64_t steps = 0;  ///< measured
  Costs costs;
  Times times;  ///< of a step
  /// The slowest rank's: `times` may be of several ranks, and add up to more.
  double total = 0;
  std::optional<double> checksum;  ///< none: the form has no values
};

/// Measures a form. \param steps  0: as many as take about a second; set to the steps that were
/// measured. Collective.
Result measure_steps(const Problem& problem, Solver& solver, const Options& options, Form form,
                     std::int64_t& steps);
/// Measures the exchange of all ghosts: medians over blocks of exchanges. The checksum is of owned
/// cells and ghosts, after the last exchange. Collective.
Result measure_exchanges(const Problem& problem, Solver& solver, const Options& options, Form form);
