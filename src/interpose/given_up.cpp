// Requests that the application gives up: it frees them, or cancels their messages.
#include "interpose/boundary.hpp"
#include "interpose/pending.hpp"
#include "interpose/requests.hpp"
#include "interpose/untestable.hpp"

namespace strake::interpose {
namespace {

/// The entry of a request, or null.
Pending* pending_of(const MPI_Request* request) {
  const bool may_have_one =
      !PendingTable::empty() && request != nullptr && *request != MPI_REQUEST_NULL;
  return may_have_one ? PendingTable::get().find(*request) : nullptr;
}

}  // namespace
}  // namespace strake::interpose

using namespace strake::interpose;

int calls::MPI_Request_free(MPI_Request* request) {
  if (request != nullptr) forget_untestable(*request);
  const auto pass_on = [&] { return real_mpi().MPI_Request_free(request); };
  return completion(pass_on, [&] {
    if (Pending* const pending = pending_of(request)) return free_pending(*pending, request);
    if (Requests::get().find(request) == nullptr) return pass_on();
    Requests::get().hand_on();
    Requests::get().abandon(*request);  // while the handle can't be another's
    const int code = pass_on();
    Requests::get().progress(nullptr);
    return code;
  });
}

int calls::MPI_Cancel(MPI_Request* request) {
  const auto pass_on = [&] { return real_mpi().MPI_Cancel(request); };
  return completion(pass_on, [&] {
    Requests& ours = Requests::get();
    if (Pending* const pending = pending_of(request)) {
      pending->may_be_gone = true;
      return pending->ended ? MPI_SUCCESS : pass_on();
    }
    const Operation* const operation = ours.find(request);
    const Requests::Seen seen = operation != nullptr ? ours.see(*operation) : Requests::Seen{};
    if (!seen.pending && !seen.complete) return pass_on();  // not ours, or inactive as its dummy
    ours.cancel(*request);
    return MPI_SUCCESS;
  });
}
