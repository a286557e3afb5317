#include "mpi/job.hpp"

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

}  // namespace strake::mpi
