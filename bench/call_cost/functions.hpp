/// \file  The MPI functions that are timed: those that a program calls, and those of the stub.
#pragma once

#include <mpi.h>

#include "call_cost/stub.hpp"

#define BENCH_TIMED_FUNCTIONS(X) \
  X(MPI_Isend)                   \
  X(MPI_Irecv)                   \
  X(MPI_Send)                    \
  X(MPI_Recv)                    \
  X(MPI_Sendrecv)                \
  X(MPI_Send_init)               \
  X(MPI_Recv_init)               \
  X(MPI_Start)                   \
  X(MPI_Startall)                \
  X(MPI_Wait)                    \
  X(MPI_Waitall)                 \
  X(MPI_Request_free)

namespace bench {

struct Functions {
#define BENCH_MEMBER(name) decltype(&::name) name = nullptr;
  BENCH_TIMED_FUNCTIONS(BENCH_MEMBER)
#undef BENCH_MEMBER
};

/// The functions that a call of the program reaches: the interposer's if one is preloaded,
/// otherwise the stub's.
Functions outermost_functions();

/// The stub that is loaded into this process.
struct Stub {
  Functions functions;
  StubControl* control = nullptr;
};
/// Ends the process with status 2 and a message if there is none.
Stub loaded_stub(const char* library);

}  // namespace bench
