/// \file  The edge between the application's MPI calls and Strake: what every wrapper passes
/// through.
#pragma once

#include <mpi.h>

#include <new>
#include <utility>

#include "interpose/next.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

/// A function that the application calls in the system's stead.
#define STRAKE_MPI extern "C" __attribute__((visibility("default")))

namespace strake::interpose {

/// How deep this thread is inside wrapped calls: what the system library itself calls is passed
/// through.
inline thread_local int t_depth = 0;

class Inside {
 public:
  Inside() noexcept { ++t_depth; }
  ~Inside() { --t_depth; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

/// STRAKE_DISABLE: every call goes straight to the system.
inline const bool g_disabled = settings::flag(settings::Id::disable);

/// Calls the error handler of `comm` as the system would, and returns the code if it returns.
int raise(MPI_Comm comm, int code);

/// Runs `ours()`; turns what Strake throws into errors on `comm`. What an error handler of the
/// application's throws goes on to it.
template <typename Ours>
int guarded(MPI_Comm comm, Ours&& ours) {
  const Inside inside;
  try {
    return ours();
  } catch (const MpiError& error) {
    return error.code();  // the system has raised it
  } catch (const OutOfMemory& error) {
    log::warn("{}", error.what());
    return raise(comm, MPI_ERR_NO_MEM);
  } catch (const Error& error) {
    log::warn("{}", error.what());
    return raise(comm, MPI_ERR_OTHER);
  } catch (const std::bad_alloc& error) {
    log::warn("{}", error.what());
    return raise(comm, MPI_ERR_NO_MEM);
  }
}

/// Runs `ours()` at the outermost level and `theirs()` inside.
template <typename Theirs, typename Ours>
int boundary(MPI_Comm comm, Theirs&& theirs, Ours&& ours) {
  return t_depth != 0 || g_disabled ? theirs() : guarded(comm, ours);
}

/// For calls that complete requests, which may be ours inside other calls too: in the application's
/// error handlers and the callbacks of its own generalised requests.
template <typename Theirs, typename Ours>
int completion(Theirs&& theirs, Ours&& ours) {
  return g_disabled ? theirs() : guarded(MPI_COMM_WORLD, ours);
}

}  // namespace strake::interpose
