/// \file  Messages for which nothing is to be done but the MPI library's call. Most messages of
/// most programs are such: what was found of them before says so, and this is all that they cost.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

#include "interpose/examine.hpp"

namespace strake::interpose {

/// Returns what earlier calls found for this message; null if it needs the general path. ~3 ns.
inline const Known* known_at_once(MessageDirection direction, Style style, int rank,
                                  const void* buffer, std::int64_t count, MPI_Datatype type) {
  const bool general = t_depth != 0 || g_disabled || rank == MPI_PROC_NULL ||
                       trying::g_open.load(std::memory_order_relaxed) ||
                       g_recorder.unusual.load(std::memory_order_acquire);
  if (general) return nullptr;
  return known_before(direction, style, buffer, count, type);
}
/// Whether the message needs only the library's call: no entry, no mark.
inline bool passes(const Known* known) noexcept {
  if (known == nullptr || known->found.passes == Passes::No) return false;
  if (known->found.passes == Passes::AtOnce && !exchange::shared::gives_room_for_headers())
    return true;
  return exchange::shared::ShmEndpoint::get() == nullptr;
}

/// Makes the library's call for a message for which passes() is true.
template <typename PassOn>
[[gnu::always_inline]] inline int pass_at_once(Function function, const Found& found,
                                               const PassOn& pass_on) {
  const Inside inside;
  times::note_transport(Transport::Library);
  record_usual({function, Transport::Library, found.reason, found.bytes});
  return pass_on();
}

/// Posts a receive that may get a header message and has room for one. Returns nothing if no entry
/// was recycled; the caller then takes the general path.
template <typename PassOn>
[[gnu::always_inline]] inline std::optional<int> watch_at_once(Function function,
                                                               const Known& known, void* buffer,
                                                               int source, MPI_Comm comm,
                                                               const MPI_Request* request,
                                                               const PassOn& pass_on) {
  if (exchange::shared::gives_room_for_headers()) return std::nullopt;
  const mpi::CommunicatorPtr* from = nullptr;
  try {
    from = &exchange::shared::communicator_of_receive(known.found.bytes, source, comm);
  } catch (const std::exception&) {
    return std::nullopt;  // the general path raises it
  }
  if (*from == nullptr) return pass_at_once(function, known.found, pass_on);
  PendingPool& pool = PendingPool::get();
  Pending* const pending = pool.make_of_recycled(function, known.found.reason);
  if (pending == nullptr) return std::nullopt;
  const Inside inside;
  pending->watch(comm, source, *from, buffer, known.found, known.elements);
  int code = MPI_SUCCESS;
  try {
    code = pass_on();
  } catch (...) {  // an error handler of the application's
    pool.recycle(pending);
    throw;
  }
  if (code != MPI_SUCCESS || *request == MPI_REQUEST_NULL) {
    pool.recycle(pending);
    return code;
  }
  RequestTable::get().enter(*request, *pending);
  return code;
}

/// Hands earlier sends to the library, then does pass_at_once().
template <typename PassOn>
[[gnu::always_inline]] inline int hand_on_and_pass(Function function, const Found& found,
                                                   const PassOn& pass_on) {
  const int code = pass_at_once(function, found, [&] {
    Requests::get().hand_on();
    return pass_on();
  });
  after_call();
  return code;
}

}  // namespace strake::interpose
