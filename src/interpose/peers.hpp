/// \file  Whether a send can be posted later without the system refusing its peer.
#pragma once

#include "exchange/operation.hpp"

namespace strake::interpose {

/// Whether it is an intercommunicator. \throws MpiError  it is none at all, which the system has
/// raised; with the code that the system returned, which is MPI_SUCCESS since MPICH 4.3 where an
/// error handler of the application's has returned.
[[nodiscard]] bool is_inter(MPI_Comm comm);
/// False where the system would refuse rank or tag: then it must be asked at once. \throws MpiError
/// as is_inter().
[[nodiscard]] bool sendable(const exchange::Peer& peer);

}  // namespace strake::interpose
