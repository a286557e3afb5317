/// \file  Timing loops in which several ranks take part: all follow the plan that rank 0 makes.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "support/report.hpp"
#include "support/sampling.hpp"

namespace bench {

/// Rank 0's plan for a body, on all ranks.
template <typename Body>
Plan plan_together(const Budget& budget, Body&& body) {
  body();
  const auto agree = [&](double call_seconds) {
    const Plan mine = plan_for(call_seconds, budget);
    int plan[2] = {mine.calls, mine.samples};
    MPI_Bcast(plan, 2, MPI_INT, 0, MPI_COMM_WORLD);
    return Plan{plan[0], plan[1]};
  };
  const int trial = agree(time_calls(3, body)).calls;
  return agree(time_calls(trial, body));
}

/// Calls `body` on all ranks equally often. Seconds per call as rank 0 sees them; other ranks'
/// values are their own.
template <typename Body>
std::vector<double> sample_together(const Budget& budget, Body&& body) {
  Turns::instance().next();
  const Plan plan = plan_together(budget, body);
  MPI_Barrier(MPI_COMM_WORLD);
  return take_samples(plan, body);
}

/// Samples two bodies as sample_together() does one: some samples of each by turns, each time after
/// a call that does not count.
template <typename First, typename Second>
std::array<std::vector<double>, 2> sample_both(const Budget& budget, First&& first,
                                               Second&& second) {
  constexpr int kTurns = 5;
  Turns::instance().next();
  const Plan plans[] = {plan_together(budget, first), plan_together(budget, second)};
  std::array<std::vector<double>, 2> seconds;
  const auto add = [&](int which, int turn, auto& body) {
    const int samples = plans[which].samples;
    const Plan part{plans[which].calls, samples * (turn + 1) / kTurns - samples * turn / kTurns};
    MPI_Barrier(MPI_COMM_WORLD);
    body();
    const std::vector<double> taken = take_samples(part, body);
    seconds[which].insert(seconds[which].end(), taken.begin(), taken.end());
  };
  for (int turn = 0; turn < kTurns; ++turn) {
    add(0, turn, first);
    add(1, turn, second);
  }
  return seconds;
}

/// A function beneath what an interposer takes over, "PMPI_Send". Found by its name, not called by
/// it: a program that calls PMPI_Recv shares no messages, since they might come there.
template <typename Function>
Function find_beneath(const char* name) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "the MPI library has no %s\n", name);
    std::exit(1);
  }
  return reinterpret_cast<Function>(found);
}

/// Half a round trip between two ranks [us], by `send(to, MPI_Send)` and `receive(from, MPI_Recv)`;
/// with `beneath` also by the library's own functions, PMPI_Send and PMPI_Recv, which no interposer
/// takes over.
template <typename Send, typename Receive>
std::vector<Summary> half_round_trips(const Budget& budget, int rank, bool beneath, Send&& send,
                                      Receive&& receive) {
  const auto round_trip = [&](auto send_by, auto receive_by) {
    if (rank == 0) send(1, send_by);
    receive(1 - rank, receive_by);
    if (rank == 1) send(0, send_by);
  };
  const auto half = [](const std::vector<double>& seconds) {
    std::vector<double> samples = to_microseconds(seconds);
    for (double& sample : samples) sample /= 2;
    return summarize(samples);
  };
  const auto through = [&] { round_trip(MPI_Send, MPI_Recv); };
  if (!beneath) return {half(sample_together(budget, through))};
  const auto send_beneath = find_beneath<decltype(&MPI_Send)>("PMPI_Send");
  const auto receive_beneath = find_beneath<decltype(&MPI_Recv)>("PMPI_Recv");
  const auto both =
      sample_both(budget, through, [&] { round_trip(send_beneath, receive_beneath); });
  return {half(both[0]), half(both[1])};
}

}  // namespace bench
