/// \file  The max-rate model of messages: T = t_c + r alpha + k n / min(R_N, k R_C), fitted to what
/// was measured. Source: Tausch, section 4.1. Here t_c = 0 (contiguous buffers) and r = 1.
#pragma once

#include <cstdint>
#include <vector>

#include "report/profiles.hpp"

namespace strake::report {

/// One measured time: k pairs of ranks send n bytes each at once.
struct PairTime {
  std::int64_t bytes = 0;  ///< n
  std::int64_t pairs = 1;  ///< k
  double seconds = 0;
};

/// The parameters for a range of sizes: a protocol of the MPI library.
struct MaxRate {
  std::int64_t first = 0;  ///< smallest size of the range [bytes]
  std::int64_t last = 0;
  double latency = 0;         ///< alpha [s]
  double rate = 0;            ///< R_C [bytes/s]; 0: the time does not grow with the size
  double injection_rate = 0;  ///< R_N [bytes/s]; 0: never reached, or not measured
  double median_error = 0;    ///< |model / measured - 1| of the points of the range
  double worst_error = 0;

  [[nodiscard]] double time(double bytes, double pairs) const noexcept;
};

/// At most three ranges (short, eager, rendezvous), fewer where more would not fit clearly better;
/// in each least squares of the relative errors. As in the source, R_N is of the range of the
/// largest sizes alone. Empty where fewer than three sizes were measured.
[[nodiscard]] std::vector<MaxRate> fit_max_rate(std::vector<PairTime> times);

/// The range that `bytes` falls into, by the nearer edge between two ranges.
[[nodiscard]] const MaxRate& range_of(const std::vector<MaxRate>& model, double bytes);

/// mpi/WAY/pairs of a library, and mpi/WAY/host as one pair. `way`: "node" or "net".
[[nodiscard]] std::vector<PairTime> pair_times(const machine::Profile& profile,
                                               const std::string& library, const std::string& way);

}  // namespace strake::report
