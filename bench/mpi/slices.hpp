/// \file  Samples of a collective exchange that are taken in turn with those of other jobs.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>
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
  bool first = true;  // all jobs take as many turns, though a slice may have no samples
  return sample_by_turns({plan_together(budget, exchange)}, {kSlices},
                         [&](std::size_t /*which*/, const Plan& part, std::vector<double>& to) {
                           if (!std::exchange(first, false)) Turns::instance().next();
                           take_together(part, exchange, to);
                         })[0];
}

/// An exchange of all ranks that fills its memory anew for each check.
struct CheckedExchange {
  std::string name;
  const char* op;
  std::int64_t bytes_per_rank;
  std::function<void()> run;
  /// Fills with the data of an epoch, runs once, and counts this rank's wrong elements. Epochs
  /// differ, so that data of an earlier exchange is found.
  std::function<std::int64_t(int epoch)> wrong;
  std::vector<Field> more = {};  ///< fields of the line
};

/// Whether all elements were right, before and after the timing; rank 0 reports if so.
inline bool measure_checked(const CheckedExchange& exchange, const Budget& budget,
                            double settles_in, int rank, const Report& report) {
  const auto wrong = [&](int epoch) {
    std::int64_t all = exchange.wrong(epoch);
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all != 0)
      std::fprintf(stderr, "%s: %lld wrong elements\n", exchange.name.c_str(),
                   static_cast<long long>(all));
    return all != 0;
  };
  if (wrong(0)) return false;
  const auto seconds = slowest_rank(sample_in_slices(budget, settles_in, exchange.run));
  if (wrong(1)) return false;
  std::vector<Field> fields = {{"op", exchange.op}, {"bytes_per_rank", exchange.bytes_per_rank}};
  fields.insert(fields.end(), exchange.more.begin(), exchange.more.end());
  if (rank == 0) report.line(exchange.name, summarize(to_microseconds(seconds)), "-us", fields);
  return true;
}

}  // namespace bench
