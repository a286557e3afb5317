#include "exchange/backoff.hpp"

#include <unistd.h>

#include <cstdlib>

#include "settings/settings.hpp"

namespace strake::exchange {
namespace {

/// Ranks on this node, as the launchers tell them (Open MPI's, Hydra, Slurm); 0 where none does.
long local_ranks() noexcept {
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_TASKS_PER_NODE"}) {
    if (const char* value = std::getenv(name)) return std::strtol(value, nullptr, 10);
  }
  return 0;
}

}  // namespace

std::chrono::microseconds spin_time() noexcept {
  static const std::chrono::microseconds time = [] {
    const std::int64_t set = settings::number(settings::Id::spin_us);
    if (set > 0) return std::chrono::microseconds(set);
    const long ranks = local_ranks();
    const bool fits = ranks > 0 && ranks <= sysconf(_SC_NPROCESSORS_ONLN);
    return std::chrono::microseconds(fits ? 1000 : 20);
  }();
  return time;
}

}  // namespace strake::exchange
