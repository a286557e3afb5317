/// \file  Whether calls of the program reach Strake. A header message must not come to a receive
/// that Strake knows nothing of, so a rank whose receives may pass Strake by shares no messages.
#pragma once

#include <string>

namespace strake::interpose {

/// Of the functions that receive, probe, or complete requests, and that the MPI library has, one
/// that a call of the program's may reach without reaching Strake's own; empty where there is none.
/// There is one where a tool is in front of Strake or in the program, where the library is newer
/// than the mpi.h of this build, where an object calls PMPI_Recv, or where Fortran was compiled
/// with other names than Strake's. Objects that are loaded later are not looked at. Cost: the
/// relocations of all loaded objects, ~1 ms.
[[nodiscard]] std::string unreached_function();

}  // namespace strake::interpose
