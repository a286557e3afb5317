/// \file  Timing loops in which several ranks take part: all follow the plan that rank 0 makes.
#pragma once

#include <mpi.h>

#include <vector>

#include "support/sampling.hpp"

namespace bench {

/// Calls `body` on all ranks equally often. Seconds per call as rank 0 sees them; other ranks'
/// values are their own.
template <typename Body>
std::vector<double> sample_together(const Budget& budget, Body&& body) {
  Turns::instance().next();
  body();
  const auto agree = [&](double call_seconds) {
    const Plan mine = plan_for(call_seconds, budget);
    int plan[2] = {mine.calls, mine.samples};
    MPI_Bcast(plan, 2, MPI_INT, 0, MPI_COMM_WORLD);
    return Plan{plan[0], plan[1]};
  };
  const int trial = agree(time_calls(3, body)).calls;
  const Plan plan = agree(time_calls(trial, body));
  MPI_Barrier(MPI_COMM_WORLD);
  return take_samples(plan, body);
}

}  // namespace bench
