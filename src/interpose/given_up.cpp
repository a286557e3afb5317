// Requests that the application gives up: it frees them, or cancels their messages.
#include <utility>

#include "interpose/boundary.hpp"
#include "interpose/pending.hpp"
#include "interpose/requests.hpp"
#include "interpose/untestable.hpp"

namespace strake::interpose {
namespace {

/// The entry of a request, or null.
RequestEntry* entry_of(const MPI_Request* request) {
  return request != nullptr ? RequestTable::get().find(*request) : nullptr;
}

}  // namespace
}  // namespace strake::interpose

using namespace strake::interpose;

int calls::MPI_Request_free(MPI_Request* request) {
  if (request != nullptr) forget_untestable(*request);
  const auto pass_on = [&] { return real_mpi().MPI_Request_free(request); };
  return completion(pass_on, [&] {
    RequestEntry* const entry = entry_of(request);
    if (Pending* const pending = as_pending(entry)) return free_pending(*pending, request);
    if (as_operation(entry) == nullptr) return pass_on();
    Requests::get().hand_on();  // may call the program, which may complete this very request
    Operation* const operation = as_operation(entry_of(request));
    if (operation == nullptr) return pass_on();
    const bool keeps = operation->is_persistent() && operation->keeps_request();
    Requests::get().abandon(*operation);  // while the handle can't be another's
    int code = MPI_SUCCESS;
    if (keeps) {
      Requests::get().give_back_persistent(std::exchange(*request, MPI_REQUEST_NULL));
    } else {
      code = pass_on();
    }
    Requests::get().progress(nullptr);
    return code;
  });
}

int calls::MPI_Cancel(MPI_Request* request) {
  const auto pass_on = [&] { return real_mpi().MPI_Cancel(request); };
  return completion(pass_on, [&] {
    Requests& ours = Requests::get();
    RequestEntry* const entry = entry_of(request);
    if (Pending* const pending = as_pending(entry)) {
      pending->may_be_gone = true;
      return pending->ended ? MPI_SUCCESS : pass_on();
    }
    Operation* const operation = as_operation(entry);
    const Requests::Seen seen = operation != nullptr ? ours.see(*operation) : Requests::Seen{};
    if (!seen.pending && !seen.complete) return pass_on();  // not ours, or inactive as its dummy
    ours.cancel(*operation);
    return MPI_SUCCESS;
  });
}
