/// \file  Which process speaks for its job or node, by the variables that launchers set before any
/// MPI library is up. Uses nothing but the C library.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace strake::job {

/// Whether this process is the one that the first of these variables that is set counts as 0. One
/// that knows of no job is the first of its own.
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
