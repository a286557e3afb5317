/// \file  The edge between the application's MPI calls and Strake: what every wrapper passes
/// through.
#pragma once

#include <mpi.h>

#include <utility>

#include "interpose/pending.hpp"
#include "interpose/requests.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/settings.hpp"

/// A function that the application calls in the system's stead.
#define STRAKE_MPI extern "C" __attribute__((visibility("default")))

namespace strake::interpose {

using mpi::real_mpi;

/// How deep this thread is inside wrapped calls: what the system library itself calls is passed
/// through.
inline thread_local int t_depth = 0;

class Inside {
 public:
  Inside() noexcept { ++depth_; }
  ~Inside() { --depth_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  int& depth_ = t_depth;  // found once
};

/// STRAKE_DISABLE: every call goes straight to the system.
inline const bool g_disabled = settings::flag(settings::Id::disable);

/// Calls the error handler of `comm` as the system would, and returns the code if it returns.
int raise(MPI_Comm comm, int code);

/// In a catch block: turns what Strake throws into an error on `comm`. What an error handler of the
/// application's throws goes on to it.
int caught(MPI_Comm comm);

/// After a call that may have waited: messages whose requests were freed, which nobody will wait
/// for, take a step.
inline void look_at_freed() {
  if (g_freed.load(std::memory_order_relaxed) != 0) step_freed();
  Requests::look_at_abandoned();
}

template <typename Ours>
[[gnu::always_inline]] inline int guarded(MPI_Comm comm, Ours&& ours) {
  const Inside inside;
  try {
    return ours();
  } catch (...) {
    return caught(comm);
  }
}

/// Runs `ours()` at the outermost level and `theirs()` inside.
template <typename Theirs, typename Ours>
[[gnu::always_inline]] inline int boundary(MPI_Comm comm, Theirs&& theirs, Ours&& ours) {
  return t_depth != 0 || g_disabled ? theirs() : guarded(comm, ours);
}

/// As boundary(), for calls that may wait for a message.
template <typename Theirs, typename Ours>
[[gnu::always_inline]] inline int receiving(MPI_Comm comm, Theirs&& theirs, Ours&& ours) {
  const int code = boundary(comm, theirs, ours);
  look_at_freed();
  return code;
}

/// The same for calls that send. A send from inside an error handler of the application's is the
/// system's; what was sent before leaves first.
template <typename Theirs, typename Ours>
[[gnu::always_inline]] inline int sending(MPI_Comm comm, Theirs&& theirs, Ours&& ours) {
  const auto inside = [&theirs] {
    Requests::get().hand_on();
    return theirs();
  };
  return receiving(comm, inside, ours);
}

/// For calls that complete requests, which may be ours inside other calls too: in the application's
/// error handlers and the callbacks of its own generalised requests.
template <typename Theirs, typename Ours>
[[gnu::always_inline]] inline int completion(Theirs&& theirs, Ours&& ours) {
  const int code = g_disabled ? theirs() : guarded(MPI_COMM_WORLD, ours);
  look_at_freed();
  return code;
}

}  // namespace strake::interpose
