/// \file  Whether this process is the first of its job or node, and how many there are, by the
/// variables that launchers set, so that it is known before MPI starts. Uses only the C library.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace strake::job {

/// Whether the first of these variables that is set is "0", or none is set: a process without a
/// launcher is the first of its job.
inline bool is_first(std::initializer_list<const char*> variables) noexcept {
  for (const char* variable : variables) {
    const char* value = std::getenv(variable);
    if (value != nullptr) return std::string_view(value) == "0";
  }
  return true;
}

/// Variables in which launchers tell each process its rank.
inline constexpr std::initializer_list<const char*> kRankVariables = {
    "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};

inline bool first_of_job() noexcept { return is_first(kRankVariables); }

/// Whether a launcher has started this process, or what did, as a rank.
inline bool is_rank() noexcept {
  for (const char* variable : kRankVariables) {
    if (std::getenv(variable) != nullptr) return true;
  }
  return false;
}

inline bool first_of_node() noexcept {
  return is_first({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"});
}

/// How many ranks the launcher started, as far as it says so; 0 if it does not.
inline int launched_ranks() noexcept {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    if (const char* value = std::getenv(variable)) return std::atoi(value);
  }
  return 0;
}

}  // namespace strake::job
