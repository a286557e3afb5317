/// \file  Messages for which nothing is to be done but the MPI library's call. Most messages of
/// most programs are such: what was found of them before says so, and this is all that they cost.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "interpose/examine.hpp"

namespace strake::interpose {

/// What was found before of a message that may be passed on at once, without an entry, a mark or a
/// trial; null: it goes the usual way. ~3 ns.
inline const Found* found_at_once(Direction direction, Style style, int rank, const void* buffer,
                                  std::int64_t count, MPI_Datatype type) {
  const bool usual = t_depth != 0 || g_disabled || rank == MPI_PROC_NULL ||
                     trying::g_open.load(std::memory_order_relaxed) ||
                     g_recorder.unusual.load(std::memory_order_acquire);
  if (usual) return nullptr;
  const Known* const known = known_before(direction, style, buffer, count, type);
  if (known == nullptr) return nullptr;
  if (known->passes != Passes::AtOnce || exchange::shared::gives_room_for_envelopes()) {
    const bool unshared = exchange::shared::PostOffice::get() == nullptr;
    if (known->passes == Passes::No || !unshared) return nullptr;
  }
  return &known->found;
}

/// Passes a call on for which found_at_once() has found something.
template <typename PassOn>
[[gnu::always_inline]] inline int pass_at_once(Function function, const Found& found,
                                               const PassOn& pass_on) {
  note(function, Method::System, found.reason, found.bytes);
  const Inside inside;
  return pass_on();
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
