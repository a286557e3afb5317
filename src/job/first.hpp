/// \file  Whether this process is the first of its job or node, by the variables that launchers
/// set, so that it is known before MPI starts. Uses only the C library.
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

inline bool first_of_job() noexcept {
  return is_first({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"});
}

inline bool first_of_node() noexcept {
  return is_first({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"});
}

}  // namespace strake::job
