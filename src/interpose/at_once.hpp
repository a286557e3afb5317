/// \file  Messages for which nothing is to be done but the MPI library's call. Most messages of
/// most programs are such: what was found of them before says so, and this is all that they cost.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "interpose/examine.hpp"

namespace strake::interpose {

/// What is known of a message of the application's own, in a job of which nothing is on trial;
/// null: it goes the usual way. ~3 ns.
inline const Known* known_at_once(Direction direction, Style style, int rank, const void* buffer,
                                  std::int64_t count, MPI_Datatype type) {
  const bool usual = t_depth != 0 || g_disabled || rank == MPI_PROC_NULL ||
                     trying::g_open.load(std::memory_order_relaxed) ||
                     g_recorder.unusual.load(std::memory_order_acquire);
  if (usual) return nullptr;
  return known_before(direction, style, buffer, count, type);
}
/// Whether it may be passed on at once, without an entry or a mark.
inline bool passes(const Known* known) noexcept {
  if (known == nullptr || known->found.passes == Passes::No) return false;
  if (known->found.passes == Passes::AtOnce && !exchange::shared::gives_room_for_envelopes())
    return true;
  return exchange::shared::PostOffice::get() == nullptr;
}

/// Passes a call on that passes().
template <typename PassOn>
[[gnu::always_inline]] inline int pass_at_once(Function function, const Found& found,
                                               const PassOn& pass_on) {
  note(function, Method::System, found.reason, found.bytes);
  const Inside inside;
  return pass_on();
}

/// Passes a receive on to which an envelope may come, and for which there is room: it needs an
/// entry under its request, and nothing else. Nothing: it goes the usual way.
template <typename PassOn>
[[gnu::always_inline]] inline std::optional<int> watch_at_once(
    Function function, const Found& found, void* buffer, std::int64_t count, MPI_Datatype type,
    int source, MPI_Comm comm, const MPI_Request* request, const PassOn& pass_on) {
  if (found.reason != Reason::Contiguous || exchange::shared::gives_room_for_envelopes())
    return std::nullopt;
  const mpi::CommunicatorPtr& from =
      exchange::shared::communicator_of_receive(found.bytes, source, comm);
  if (from == nullptr) return pass_at_once(function, found, pass_on);
  PendingTable& table = PendingTable::get();
  PendingTable::Owned pending = table.make_of_recycled(function, found.reason, comm);
  if (pending == nullptr) return std::nullopt;
  pending->expect_from(from);
  pending->landing.emplace(buffer, count, type, found);
  const Inside inside;
  const int code = pass_on();
  if (code == MPI_SUCCESS && *request != MPI_REQUEST_NULL) table.add(*request, std::move(pending));
  return code;
}

/// As pass_at_once(), of a call that sends, or may wait: earlier sends leave before it.
template <typename PassOn>
[[gnu::always_inline]] inline int hand_on_and_pass(Function function, const Found& found,
                                                   const PassOn& pass_on) {
  Requests::get().hand_on();
  const int code = pass_at_once(function, found, pass_on);
  look_at_freed();
  return code;
}

}  // namespace strake::interpose
