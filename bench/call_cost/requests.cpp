#include "call_cost/requests.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace bench::stub {
namespace {

constexpr std::size_t kRequests = 4096;
#ifndef OPEN_MPI
constexpr unsigned kFirstHandle = 0xac000000;  // MPICH's pattern for a request that is no constant
#endif

struct Pool {
  std::array<Request, kRequests> requests;
  std::array<Request*, kRequests> free;
  std::size_t free_count = kRequests;
  Pool() {
    for (std::size_t i = 0; i < kRequests; ++i) free[i] = &requests[kRequests - 1 - i];
  }
};

// Never destroyed: MPI may be called after main.
Pool& pool() {
  static Pool& made = *new Pool;
  return made;
}

}  // namespace

void give_up(const char* why) noexcept {
  std::fprintf(stderr, "stub of MPI: %s\n", why);
  std::abort();
}

Request& make_request() {
  Pool& p = pool();
  if (p.free_count == 0) give_up("too many requests");
  Request& made = *p.free[--p.free_count];
  made = Request();
  return made;
}

void drop_request(Request& request) noexcept {
  Pool& p = pool();
  p.free[p.free_count++] = &request;
}

MPI_Request handle_of(const Request& request) noexcept {
#ifdef OPEN_MPI
  return reinterpret_cast<MPI_Request>(const_cast<Request*>(&request));
#else
  return static_cast<MPI_Request>(kFirstHandle +
                                  static_cast<unsigned>(&request - pool().requests.data()));
#endif
}

Request& request_of(MPI_Request handle) noexcept {
  Pool& p = pool();
#ifdef OPEN_MPI
  auto* const request = reinterpret_cast<Request*>(handle);
  if (request < p.requests.data() || request >= p.requests.data() + kRequests) {
    give_up("a request is none of its own");
  }
  return *request;
#else
  const unsigned place = static_cast<unsigned>(handle) - kFirstHandle;
  if (place >= kRequests) give_up("a request is none of its own");
  return p.requests[place];
#endif
}

MPI_Request shared_complete() noexcept {
  static const MPI_Request shared = [] {
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Isend(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    return request;
  }();
  return shared;
}

}  // namespace bench::stub
