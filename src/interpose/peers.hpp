/// \file  Calls that send: when what was sent before must leave first, and whether a send can be
/// posted later without the system refusing its peer.
#pragma once

#include "exchange/engine.hpp"
#include "interpose/boundary.hpp"

namespace strake::interpose {

/// As boundary(). A call from an error handler of the application's goes to the system, too, behind
/// what was sent before.
template <typename Theirs, typename Ours>
[[gnu::always_inline]] inline int sending(MPI_Comm comm, Theirs&& theirs, Ours&& ours) {
  const auto inside = [&theirs] {
    exchange::Engine::get().hand_on();
    return theirs();
  };
  return boundary(comm, inside, ours);
}

/// False where the system would refuse rank or tag: then it must be asked at once.
[[nodiscard]] bool sendable(const exchange::Peer& peer) noexcept;

}  // namespace strake::interpose
