/// \file  The edge between the application's MPI calls and Strake. Every wrapper uses one of these
/// functions.
#pragma once

#include <mpi.h>

#include <utility>

#include "interpose/calls.hpp"
#include "interpose/errors.hpp"
#include "interpose/inside.hpp"
#include "interpose/pending.hpp"
#include "interpose/requests.hpp"
#include "interpose/suspects.hpp"
#include "interpose/trying.hpp"
#include "mpi/real_mpi.hpp"

/// Begins the declaration of a function that the application calls instead of the MPI library's.
#define STRAKE_MPI extern "C" __attribute__((visibility("default")))

namespace strake::interpose {

using mpi::real_mpi;

/// After a call that may have waited: advances what is in flight beside it.
inline void after_call() {
  Requests::advance_rest();
  if (exchange::shared::g_unsettled.load(std::memory_order_relaxed)) settle_truncated();
}

/// Runs `handle()`; an exception becomes an error on `comm`.
template <typename Handle>
[[gnu::always_inline]] inline int guarded(MPI_Comm comm, Handle&& handle) {
  const Inside inside;
  try {
    const int code = handle();
    trying::leave();
    return code;
  } catch (...) {
    trying::drop();
    return caught(comm);
  }
}

/// Runs `handle()` for a call of the application, and `pass_on()` for one from inside another call.
template <typename PassOn, typename Handle>
[[gnu::always_inline]] inline int boundary(MPI_Comm comm, PassOn&& pass_on, Handle&& handle) {
  return t_depth != 0 || g_disabled ? pass_on() : guarded(comm, handle);
}

/// As boundary(), for calls that may wait for a message.
template <typename PassOn, typename Handle>
[[gnu::always_inline]] inline int receiving(MPI_Comm comm, PassOn&& pass_on, Handle&& handle) {
  const int code = boundary(comm, pass_on, handle);
  after_call();
  return code;
}

/// As receiving(), for calls that send. A send that is passed on, such as one from inside the
/// application's error handler, leaves after all earlier sends.
template <typename PassOn, typename Handle>
[[gnu::always_inline]] inline int sending(MPI_Comm comm, PassOn&& pass_on, Handle&& handle) {
  const auto inside = [&pass_on] {
    Requests::get().hand_on();
    return pass_on();
  };
  return receiving(comm, inside, handle);
}

/// For calls that start persistent requests. Runs `handle()` also inside another call, as
/// completion() does.
template <typename PassOn, typename Handle>
[[gnu::always_inline]] inline int starting(PassOn&& pass_on, Handle&& handle) {
  trying::enter();
  const int code = g_disabled ? pass_on() : guarded(MPI_COMM_WORLD, handle);
  after_call();
  return code;
}

/// For calls that complete requests. Runs `handle()` also inside another call: the application's
/// error handlers, and the callbacks of its generalised requests, may complete requests of Strake.
template <typename PassOn, typename Handle>
[[gnu::always_inline]] inline int completion(PassOn&& pass_on, Handle&& handle) {
  return starting(pass_on, [&] {
    const int code = handle();
    trying::leave(true);
    return code;
  });
}

/// The whole wrapper of a call that `handle(arguments...)` carries out as a completion().
template <auto handle, typename Real, typename... Arguments>
[[gnu::always_inline]] inline int completing(Real real, Arguments... arguments) {
  return completion([&] { return real(arguments...); }, [&] { return handle(arguments...); });
}

}  // namespace strake::interpose
