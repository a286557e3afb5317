#include "mpi/job.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cstdlib>

namespace strake::mpi {
namespace {

/// The number that the first of these variables that is set begins with.
template <typename... Names>
std::optional<long> number(Names... names) noexcept {
  for (const char* name : {names...}) {
    if (const char* const value = std::getenv(name)) return std::strtol(value, nullptr, 10);
  }
  return {};
}

}  // namespace

std::optional<long> local_ranks() noexcept {
  return number("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_TASKS_PER_NODE");
}

std::optional<bool> on_one_node(std::int64_t pretended) noexcept {
  constexpr const char* kLocalAndAll[][2] = {{"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"},
                                             {"MPI_LOCALNRANKS", "PMI_SIZE"}};
  for (const auto& [local, all] : kLocalAndAll) {
    const std::optional<long> here = number(local);
    const std::optional<long> everywhere = number(all);
    if (everywhere && pretended > 0) return *everywhere <= pretended;
    if (here && everywhere) return *here == *everywhere;
  }
  const std::optional<long> nodes = number("SLURM_STEP_NUM_NODES");
  return nodes ? std::optional(*nodes == 1) : std::nullopt;
}

std::optional<std::string> launch_id() {
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}) {
    if (const char* const value = std::getenv(name)) return fmt::format("{}={}", name, value);
  }
  // Hydra names no job; but all ranks of one have their sockets from one process.
  if (const std::optional<long> wire = number("PMI_FD")) {
    ucred maker{};
    socklen_t size = sizeof(maker);
    if (getsockopt(static_cast<int>(*wire), SOL_SOCKET, SO_PEERCRED, &maker, &size) == 0 &&
        maker.pid > 0)
      return fmt::format("PMI_FD={}", maker.pid);
  }
  const std::optional<long> job = number("SLURM_JOB_ID");
  const std::optional<long> step = number("SLURM_STEP_ID");
  if (job && step) return fmt::format("SLURM={}.{}", *job, *step);
  return std::nullopt;
}

}  // namespace strake::mpi
