/// \file  An error handler that counts its calls, and notes of what calls returned and reported.
#pragma once

#include <string>

#include "check.hpp"

namespace handler_calls {

inline int g_called = 0;
inline std::string g_where;

/// The handler.
inline void count(MPI_Comm* comm, int* /*code*/, ...) {
  ++g_called;
  g_where = *comm == MPI_COMM_WORLD ? "the world" : *comm == MPI_COMM_SELF ? "itself" : "another";
}

/// MPICH returns MPI_SUCCESS, since 4.3, where the handler has returned; Strake may return the
/// error.
inline std::string returned(int code) {
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40300000
  if (g_called > 0) return "the error";
#endif
  return check::class_name(code);
}

/// Notes what the call returned, and the handler's calls since the last note.
inline void tell(const std::string& name, int code) {
  check::note("%s: %s, handler called %d times, on %s", name.c_str(), returned(code).c_str(),
              g_called, g_called > 0 ? g_where.c_str() : "none");
  g_called = 0;
}

}  // namespace handler_calls
