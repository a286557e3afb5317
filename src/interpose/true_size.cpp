#include "interpose/true_size.hpp"

#include <cstring>

#include "interpose/pending.hpp"
#include "interpose/quiet_world.hpp"
#include "interpose/requests.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/wire.hpp"

namespace strake::interpose {
namespace {

MPI_Request handle_of(const Pending& pending) noexcept {
  MPI_Request request = MPI_REQUEST_NULL;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): a handle may be a pointer, whose bits are the key
  std::memcpy(&request, &pending.key, sizeof request);
  return request;
}

/// A receive whose message nobody has looked at yet: what it has got is no longer the next.
void see_pending(Pending& pending, std::int32_t from, const mpi::CommunicatorPtr& comm) {
  namespace shared = exchange::shared;
  Receive& receive = pending.receive;
  if (!pending.active || !receive.may_hold_header()) return;
  shared::ShmEndpoint::get()->peer_segments().see(pending.landed().data(), from);
  if (receive.communicator() != comm || receive.met() != Met::No) return;
  int flag = 0;
  MPI_Status status{};
  if (look_at_pending(pending, handle_of(pending), flag, status) != MPI_SUCCESS || flag == 0 ||
      !shared::is_header_length(mpi::received_bytes(status)))
    return;
  if (shared::is_header(status, comm, pending.landed())) return;
  shared::see_message(status, comm);
  receive.note_dropped();
}

}  // namespace

void see_received(std::int32_t from, const mpi::CommunicatorPtr& comm) {
  if (!exchange::g_in_flight.idle()) step_freed();
  for_each_pending([&](Pending& pending) { see_pending(pending, from, comm); });
}

void tell_true_size(MPI_Status& status, MPI_Comm comm, bool matched) {
  namespace shared = exchange::shared;
  if (!shared::like_header(mpi::received_bytes(status))) return;
  const QuietWorld quiet;  // it asks about requests, which may have failed
  Requests::get().progress();
  const mpi::CommunicatorPtr known = mpi::communicator(comm);
  if (known == nullptr) return;
  const int from = known->world_rank(status.MPI_SOURCE);
  if (from >= 0) see_received(from, known);
  shared::set_bytes(status, shared::bytes_of_probed(status, known, matched));
}

}  // namespace strake::interpose
