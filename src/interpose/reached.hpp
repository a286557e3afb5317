/// \file  Whether calls of the program reach Strake. A header message must not come to a receive
/// that Strake knows nothing of, so a rank whose receives may pass Strake by shares no messages.
#pragma once

#include <string>

namespace strake::interpose {

/// Returns the name of an MPI function whose calls must all reach Strake (it receives, probes,
/// handles requests or frees memory), but may pass it by; empty if there is none. Calls pass Strake
/// by where a tool is in front of it or in the program, where the library is newer than the mpi.h
/// of this build, where an object calls PMPI_Recv, or where Fortran was compiled with other names
/// than Strake's. Objects that are loaded later are not looked at. Cost: the relocations of all
/// loaded objects, ~1 ms.
[[nodiscard]] std::string unreached_function();

}  // namespace strake::interpose
