#include "interpose/collective.hpp"

#include "mpi/quirks.hpp"

namespace strake::interpose {

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
