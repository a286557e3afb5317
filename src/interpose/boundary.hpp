/// \file  The edge between the application's MPI calls and Strake. Every wrapper uses one of these
/// functions.
#pragma once

#include <mpi.h>

#include <utility>

#include "interpose/calls.hpp"
#include "interpose/pending.hpp"
#include "interpose/requests.hpp"
#include "interpose/trying.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/settings.hpp"

/// What the application calls instead of the MPI library's function.
#define STRAKE_MPI extern "C" __attribute__((visibility("default")))

namespace strake::interpose {

using mpi::real_mpi;

/// How many wrapped calls this thread is inside. Calls from inside another one, such as those that
/// the MPI library makes itself, are passed on.
inline thread_local int t_depth = 0;

class Inside {
 public:
  Inside() noexcept { ++depth_; }
  ~Inside() { --depth_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  int& depth_ = t_depth;  // a thread-local variable is looked up once
};

/// STRAKE_DISABLE: every call is passed on.
inline const bool g_disabled = settings::flag(settings::Id::disable);

/// Calls the error handler of `comm` as the MPI library would, and returns the code if it returns.
int raise(MPI_Comm comm, int code);

/// In a catch block: turns an exception of Strake into an error on `comm`. An exception that the
/// application's error handler threw goes on to the application.
int caught(MPI_Comm comm);

/// Looks at slots of messages that receives were too short for (interpose/short_receives.hpp).
void settle_truncated() noexcept;

/// After a call that may have waited: advances messages whose requests were freed, since nobody
/// waits for them.
inline void look_at_freed() {
  if (g_freed.load(std::memory_order_relaxed) != 0) step_freed();
  Requests::look_at_abandoned();
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
  look_at_freed();
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
  look_at_freed();
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

}  // namespace strake::interpose
