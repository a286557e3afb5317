/// \file  The name of an MPI library and its version, as profiles have it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "mpi/quirks.hpp"

namespace strake::mpi {

/// "Open MPI 4.1.4", from what MPI_Get_library_version gives.
[[nodiscard]] inline std::string library_name(std::string_view version) {
  const std::size_t begin = std::min(version.find_first_of("0123456789"), version.size());
  const std::size_t end = version.find_first_of(", \t\r\n", begin);
  return std::string(quirks::kLibrary) + " " + std::string(version.substr(begin, end - begin));
}

}  // namespace strake::mpi
