/// \file  Timing loops in which several ranks take part: all follow the plan that rank 0 makes.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "support/report.hpp"
#include "support/sampling.hpp"

namespace bench {

/// Rank 0's plan for a body, on all ranks.
template <typename Body>
Plan plan_together(const Budget& budget, Body&& body) {
  return plan_of(budget, body, [](const Plan& mine) {
    int plan[2] = {mine.calls, mine.samples};
    MPI_Bcast(plan, 2, MPI_INT, 0, MPI_COMM_WORLD);
    return Plan{plan[0], plan[1]};
  });
}

/// Appends samples of a body that all ranks call equally often, after a call that does not count:
/// others' data is in the caches.
template <typename Body>
void take_together(const Plan& plan, Body&& body, std::vector<double>& to) {
  MPI_Barrier(MPI_COMM_WORLD);
  body();
  take_samples(plan, body, to);
}

/// Calls `body` on all ranks equally often. Seconds per call as rank 0 sees them; other ranks'
/// values are their own.
template <typename Body>
std::vector<double> sample_together(const Budget& budget, Body&& body) {
  Turns::instance().next();
  std::vector<double> seconds;
  take_together(plan_together(budget, body), body, seconds);
  return seconds;
}

/// Samples two bodies as sample_together() does one, by turns.
template <typename First, typename Second>
std::vector<std::vector<double>> sample_both(const Budget& budget, First&& first, Second&& second) {
  constexpr int kTurns = 5;
  Turns::instance().next();
  return sample_by_turns({plan_together(budget, first), plan_together(budget, second)}, {kTurns},
                         [&](std::size_t which, const Plan& part, std::vector<double>& to) {
                           if (which == 0) return take_together(part, first, to);
                           take_together(part, second, to);
                         });
}

/// Each sample is the slowest rank's. Ranks that disagree about the number of samples would be a
/// fault of the program.
inline std::vector<double> slowest_rank(std::vector<double> samples) {
  MPI_Allreduce(MPI_IN_PLACE, samples.data(), static_cast<int>(samples.size()), MPI_DOUBLE, MPI_MAX,
                MPI_COMM_WORLD);
  return samples;
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
    return summarize(scaled(seconds, 0.5e6));
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
