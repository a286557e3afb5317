/// \file  The communicators of matched messages: a receive of one names none, and an error that
/// Strake raises belongs there.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "exchange/transport/shared/header_messages.hpp"
#include "mpi/communicators.hpp"

namespace strake::interpose {

/// A probe has matched the message there. (Where no memory is left for it, it is not known.)
/// `header`: of a header message's size.
void remember_message(MPI_Message message, MPI_Comm comm, bool header) noexcept;
/// Where a probe matched a message.
struct Origin {
  MPI_Comm comm = MPI_COMM_WORLD;
  mpi::CommunicatorPtr communicator;  ///< known, and not freed since
  bool header = false;                ///< the probe has found a message of a header message's size

  /// Of a receive from `source` with that room. Null: no header message comes.
  [[nodiscard]] const mpi::CommunicatorPtr& communicator_of_receive(int source,
                                                                    std::int64_t room) const {
    if (source == MPI_PROC_NULL) return mpi::kNoCommunicator;
    return communicator != nullptr ? communicator
                                   : exchange::shared::communicator_of_receive(room, source, comm);
  }
  /// Whether a receive with that room, whose message is looked at, is to get memory of Strake's
  /// with room for a header message (Landing).
  [[nodiscard]] bool gives_room(std::int64_t room) const noexcept {
    namespace shared = exchange::shared;
    if (room < 0 || room >= shared::kLongestHeader) return false;
    return communicator != nullptr ? header : shared::gives_room_for_headers();
  }
  [[nodiscard]] exchange::shared::Met met() const noexcept {
    return communicator != nullptr ? exchange::shared::Met::Matched : exchange::shared::Met::No;
  }
};
/// Whether probes have matched messages of a header message's size there, on the communicator of
/// that name, that were not received yet.
[[nodiscard]] bool holds_headers(std::uint64_t comm) noexcept;
/// MPI_COMM_WORLD where that is not known. Before the MPI library may give the handle out again.
[[nodiscard]] Origin forget_message(const MPI_Message* message);

}  // namespace strake::interpose
