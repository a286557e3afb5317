/// \file  The stub's requests: a fixed pool, and handles of the MPI library's type.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace bench::stub {

struct Request {
  enum class Kind : std::uint8_t { Send, Receive, Generalised };
  Kind kind = Kind::Send;
  bool persistent = false;
  bool active = false;
  bool there = false;  ///< a receive's message has been delivered; a generalised one is complete
  bool freed = false;  ///< by the program, before it was complete
  int peer = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  MPI_Count count = 0;
  MPI_Count bytes = 0;  ///< that came, once it is there
  void* buffer = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Grequest_query_function* query = nullptr;
  MPI_Grequest_free_function* release = nullptr;
  void* state = nullptr;
};

/// A request as if new. Ends the process if thousands live already.
[[nodiscard]] Request& make_request();
void drop_request(Request& request) noexcept;
[[nodiscard]] MPI_Request handle_of(const Request& request) noexcept;
/// Ends the process if the handle is none of the stub's.
[[nodiscard]] Request& request_of(MPI_Request handle) noexcept;
/// The handle of a send that is complete from the start, the library's own: the one that it gives
/// out for a send to nobody. Never given back to the library.
[[nodiscard]] MPI_Request shared_complete() noexcept;

/// Says why on standard error, and aborts.
[[noreturn]] void give_up(const char* why) noexcept;

}  // namespace bench::stub
