#include "interpose/collective.hpp"

#include <algorithm>

#include "exchange/collective/members.hpp"
#include "mpi/communicators.hpp"
#include "mpi/quirks.hpp"
#include "mpi/types.hpp"

namespace strake::interpose {
std::int64_t count_blocks(Blocks blocks, MPI_Comm comm) {
  switch (blocks) {
    case Blocks::One:
    case Blocks::Own:
      return 1;
    case Blocks::Peers:
    case Blocks::Ranks: {
      // `comm` may be no communicator at all, which the MPI library is to say of this very call.
      const mpi::CommunicatorPtr& known = mpi::communicator(comm);
      return known != nullptr ? std::ssize(known->world) : 0;
    }
    case Blocks::Sources:
    case Blocks::Destinations:
      break;
  }
  const exchange::Members* const members = exchange::Members::of(comm);
  if (members == nullptr || members->neighbours() == nullptr) return 0;
  return std::ssize(members->neighbours()->destinations);
}

std::int64_t look_up_size(MPI_Datatype type) {
  const std::uint64_t generation = mpi::g_type_generation.load(std::memory_order_relaxed);
  const std::int64_t bytes = std::max<std::int64_t>(mpi::known_size(type), 0);
  // A type that was not decoded can be freed, and its handle be another one's, in one generation.
  if (mpi::decoded(type) != nullptr) t_last_size = {type, generation, bytes};
  return bytes;
}

OwnedPending entry_of(std::unique_ptr<Staged> staged, MPI_Request* request) {
  if (request != nullptr) *request = MPI_REQUEST_NULL;
  OwnedPending made =
      PendingPool::get().make(staged->function(), Reason::None, Receive(staged->comm()));
  made->work = std::move(staged);
  return made;
}

int keep_staged(OwnedPending entry, const MPI_Request* request, int code, bool persistent) {
  if (code != MPI_SUCCESS || request == nullptr || *request == MPI_REQUEST_NULL) return code;
  if (persistent) {
    entry->kind = RequestEntry::Kind::Persistent;
    entry->active = false;
    entry->beside = mpi::quirks::kTestallRepeatsBadly;
  } else {
    // Requests that are complete by now may have one and the same handle.
    int flag = 0;
    const int asked = real_mpi().MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
    if (asked == MPI_SUCCESS && flag != 0) {
      entry->work->end();
      return code;
    }
  }
  enter_pending(*request, std::move(entry));
  return code;
}

}  // namespace strake::interpose
