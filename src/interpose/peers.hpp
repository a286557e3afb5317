/// \file  Whether a send can be posted later without the system refusing its peer.
#pragma once

#include "exchange/operation.hpp"

namespace strake::interpose {

/// False where the system would refuse rank or tag: then it must be asked at once. \throws MpiError
/// no communicator, which the system has raised.
[[nodiscard]] bool sendable(const exchange::Peer& peer);

}  // namespace strake::interpose
