/// \file  Messages that probes have matched: the receive of one names no communicator.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "interpose/receive.hpp"

namespace strake::interpose {

/// A probe on `comm` has matched the message. (Where no memory is left for it, it is not known.)
/// `header`: of a header message's size.
void remember_message(MPI_Message message, MPI_Comm comm, bool header) noexcept;
/// Whether probes have matched messages of a header message's size there, on the communicator of
/// that name, that were not received yet.
[[nodiscard]] bool holds_headers(std::uint64_t comm) noexcept;
/// The receive of the message; on MPI_COMM_WORLD where the message is not known. To be called
/// before the MPI library may give the handle out again.
[[nodiscard]] Receive forget_message(const MPI_Message* message);

}  // namespace strake::interpose
