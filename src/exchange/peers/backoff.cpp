#include "exchange/peers/backoff.hpp"

#include <unistd.h>

#include "mpi/job.hpp"
#include "settings/settings.hpp"

namespace strake::exchange {

std::chrono::microseconds spin_time() noexcept {
  static const std::chrono::microseconds time = [] {
    const std::int64_t set = settings::number(settings::Id::spin_us);
    if (set > 0) return std::chrono::microseconds(set);
    const long ranks = mpi::local_ranks().value_or(0);
    const bool fits = ranks > 0 && ranks <= sysconf(_SC_NPROCESSORS_ONLN);
    return std::chrono::microseconds(fits ? 1000 : 20);
  }();
  return time;
}

}  // namespace strake::exchange
