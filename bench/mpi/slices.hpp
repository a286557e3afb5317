/// \file  Samples of a collective exchange that are taken in turn with those of other jobs.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mpi/paired_sampling.hpp"
#include "support/turns.hpp"

namespace bench {

inline constexpr const char* kSettleHelp =
    "milliseconds of exchanges before a case is measured (usually 0)";
/// The last of the values that the option was given, in seconds. Nothing, and a message, if it is
/// none.
inline std::optional<double> parse_settle(const std::vector<std::string>& values) {
  if (values.empty()) return 0.0;
  char* end = nullptr;
  const double found = std::strtod(values.back().c_str(), &end);
  if (*end == '\0' && end != values.back().c_str() && found >= 0 && found <= 10000)
    return found / 1e3;
  std::fprintf(stderr, "--settle takes 0 to 10000 milliseconds, not %s\n", values.back().c_str());
  return std::nullopt;
}

/// Runs exchanges for about so long, so that Strake's trials end before the measurement.
inline void settle(double seconds, const std::function<void()>& exchange) {
  constexpr int kAtATime = 16;
  const Stopwatch watch;
  for (int more = seconds > 0 ? 1 : 0; more != 0;) {
    for (int i = 0; i < kAtATime; ++i) exchange();
    more = watch.seconds() < seconds ? 1 : 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

/// As sample_together, but in slices, in turn with those of other jobs: what a machine does to
/// one job in half a second, it then does to all.
inline std::vector<double> sample_in_slices(const Budget& budget, double settles_in,
                                            const std::function<void()>& exchange) {
  constexpr int kSlices = 5;
  Turns::instance().next();
  settle(settles_in, exchange);
  return sample_by_turns({plan_together(budget, exchange)}, {kSlices},
                         [&](std::size_t /*which*/, const Plan& part, std::vector<double>& to) {
                           if (!to.empty()) Turns::instance().next();
                           take_together(part, exchange, to);
                         })[0];
}

}  // namespace bench
