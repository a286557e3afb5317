// Completion: the system completes every request, ours too, once the engine says that they are
// there; a running persistent request of ours is hidden from the system until then, because its
// dummy is complete from the start.
#include <algorithm>
#include <vector>

#include "exchange/backoff.hpp"
#include "exchange/engine.hpp"
#include "interpose/boundary.hpp"

namespace strake::interpose {
namespace {

using exchange::Backoff;
using exchange::Engine;

bool any_ours(int count, const MPI_Request* requests) {
  Engine& engine = Engine::get();
  if (engine.idle() || requests == nullptr) return false;
  for (int i = 0; i < count; ++i) {
    if (engine.find(requests[i]).ours) return true;
  }
  return false;
}

bool any_pending(int count, const MPI_Request* requests) {
  for (int i = 0; i < count; ++i) {
    if (Engine::get().find(requests[i]).pending) return true;
  }
  return false;
}

/// Replaces a dummy's status by that of the message; MPI_ERROR is the caller's business.
void put_status(const Engine::Outcome& outcome, MPI_Status* status) {
  if (!outcome.has_status || status == MPI_STATUS_IGNORE) return;
  const int error = status->MPI_ERROR;
  *status = outcome.status;
  status->MPI_ERROR = error;
}

/// Raises what went wrong with one of ours where it belongs, and returns the code.
int settle(Engine::Outcome& outcome) {
  if (outcome.failed != MPI_REQUEST_NULL) {
    MPI_Status status;
    const int code = mpi::real_mpi().MPI_Wait(&outcome.failed, &status);
    // A persistent one that MPICH 5 has made inactive by then raises nothing: its status is empty.
    const bool inactive = outcome.comm != MPI_COMM_NULL && status.MPI_SOURCE == MPI_ANY_SOURCE;
    if (code != MPI_SUCCESS || !inactive) return code;
  }
  return outcome.comm == MPI_COMM_NULL ? outcome.error : raise(outcome.comm, outcome.error);
}

int finish_one(MPI_Request handle, MPI_Status* status, int code) {
  Engine::Outcome outcome = Engine::get().completed(handle);
  put_status(outcome, status);
  return outcome.error != MPI_SUCCESS ? settle(outcome) : code;
}

/// After the system completed all (or some) of the requests: `handles[i]` belongs to `statuses[i]`.
int finish_many(const std::vector<MPI_Request>& handles, MPI_Status* statuses, int code) {
  const bool wanted = statuses != MPI_STATUSES_IGNORE;
  std::vector<Engine::Outcome> outcomes(handles.size());
  bool failed = false;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    outcomes[i] = Engine::get().completed(handles[i]);
    if (wanted) put_status(outcomes[i], &statuses[i]);
    failed = failed || outcomes[i].error != MPI_SUCCESS;
  }
  if (!failed) return code;
  std::vector<MPI_Request> inner;
  MPI_Comm comm = MPI_COMM_NULL;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (wanted && code == MPI_SUCCESS) statuses[i].MPI_ERROR = outcomes[i].error;
    if (wanted && outcomes[i].error != MPI_SUCCESS) statuses[i].MPI_ERROR = outcomes[i].error;
    if (outcomes[i].failed != MPI_REQUEST_NULL) inner.push_back(outcomes[i].failed);
    if (outcomes[i].comm != MPI_COMM_NULL) comm = outcomes[i].comm;
  }
  if (inner.empty())
    return comm == MPI_COMM_NULL ? MPI_ERR_IN_STATUS : raise(comm, MPI_ERR_IN_STATUS);
  MPI_Status nothing{};
  nothing.MPI_ERROR = MPI_SUCCESS;
  std::vector<MPI_Status> raised(inner.size(), nothing);
  const int count = static_cast<int>(inner.size());
  const int result = mpi::real_mpi().MPI_Waitall(count, inner.data(), raised.data());
  const bool told = std::any_of(raised.begin(), raised.end(), [](const MPI_Status& status) {
    return status.MPI_ERROR != MPI_SUCCESS;
  });
  // MPICH 4 has forgotten the error by then; it raises those of several requests on MPI_COMM_WORLD.
  return result != MPI_SUCCESS || told ? result : raise(MPI_COMM_WORLD, MPI_ERR_IN_STATUS);
}

/// The requests as the system may see them: without our persistent ones, whose dummies tell nothing
/// (one library takes a started one to MPI_PROC_NULL for complete, another for inactive).
struct Visible {
  std::vector<MPI_Request> requests;
  std::vector<int> ready;  ///< indices of persistent ones that are complete
  bool pending = false;    ///< a persistent one is not there yet

  Visible(int count, const MPI_Request* all) : requests(all, all + count) {
    for (int i = 0; i < count; ++i) {
      const Engine::Found found = Engine::get().find(all[i]);
      if (!found.persistent) continue;
      requests[static_cast<std::size_t>(i)] = MPI_REQUEST_NULL;
      if (found.complete) ready.push_back(i);
      pending = pending || found.pending;
    }
  }
};

int wait(MPI_Request* request, MPI_Status* status) {
  Engine& engine = Engine::get();
  if (!any_ours(1, request)) {
    engine.hand_on();
    return next().MPI_Wait(request, status);
  }
  Backoff backoff;
  for (engine.progress(); engine.find(*request).pending; engine.progress()) backoff.pause();
  const MPI_Request handle = *request;
  return finish_one(handle, status, next().MPI_Wait(request, status));
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  Engine& engine = Engine::get();
  engine.progress();
  if (!any_ours(1, request)) return next().MPI_Test(request, flag, status);
  if (engine.find(*request).pending) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  const MPI_Request handle = *request;
  const int code = next().MPI_Test(request, flag, status);
  return *flag != 0 ? finish_one(handle, status, code) : code;
}

int waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  Engine& engine = Engine::get();
  if (!any_ours(count, requests)) {
    engine.hand_on();
    return next().MPI_Waitall(count, requests, statuses);
  }
  Backoff backoff;
  for (engine.progress(); any_pending(count, requests); engine.progress()) backoff.pause();
  const std::vector<MPI_Request> handles(requests, requests + count);
  return finish_many(handles, statuses, next().MPI_Waitall(count, requests, statuses));
}

int testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  Engine& engine = Engine::get();
  engine.progress();
  if (!any_ours(count, requests)) return next().MPI_Testall(count, requests, flag, statuses);
  if (any_pending(count, requests)) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  const std::vector<MPI_Request> handles(requests, requests + count);
  const int code = next().MPI_Testall(count, requests, flag, statuses);
  return *flag != 0 ? finish_many(handles, statuses, code) : code;
}

/// One round of Testany; `nothing`: no active request at all.
int try_any(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status,
            bool& nothing) {
  Engine::get().progress();
  nothing = false;
  Visible visible(count, requests);
  if (!visible.ready.empty()) {
    *index = visible.ready.front();
    *flag = 1;
    const MPI_Request handle = requests[*index];
    return finish_one(handle, status, next().MPI_Wait(&requests[*index], status));
  }
  const int code = next().MPI_Testany(count, visible.requests.data(), index, flag, status);
  if (*flag == 0 || *index == MPI_UNDEFINED) {
    nothing = *flag != 0 && !visible.pending;
    if (visible.pending) *flag = 0;
    return code;
  }
  const MPI_Request handle = requests[*index];
  requests[*index] = visible.requests[static_cast<std::size_t>(*index)];
  return finish_one(handle, status, code);
}

int waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  if (!any_ours(count, requests)) {
    Engine::get().hand_on();
    return next().MPI_Waitany(count, requests, index, status);
  }
  Backoff backoff;
  for (;;) {
    int flag = 0;
    bool nothing = false;
    const int code = try_any(count, requests, index, &flag, status, nothing);
    if (nothing) return next().MPI_Waitany(count, requests, index, status);  // its empty status
    if (flag != 0 || code != MPI_SUCCESS) return code;
    backoff.pause();
  }
}

int testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (!any_ours(count, requests)) {
    Engine::get().progress();
    return next().MPI_Testany(count, requests, index, flag, status);
  }
  bool nothing = false;
  const int code = try_any(count, requests, index, flag, status, nothing);
  if (*flag == 0) *index = MPI_UNDEFINED;
  return code;
}

/// One round of Testsome; outcount is 0 while active requests are not there yet.
int try_some(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  Engine::get().progress();
  Visible visible(count, requests);
  const int code = next().MPI_Testsome(count, visible.requests.data(), outcount, indices, statuses);
  if (*outcount == MPI_UNDEFINED) {
    if (visible.ready.empty() && !visible.pending) return code;
    *outcount = 0;
  }
  std::vector<MPI_Request> handles;
  for (int i = 0; i < *outcount; ++i) {
    const auto at = static_cast<std::size_t>(indices[i]);
    handles.push_back(requests[at]);
    requests[at] = visible.requests[at];
  }
  for (const int ready : visible.ready) {
    handles.push_back(requests[ready]);
    next().MPI_Wait(&requests[ready], MPI_STATUS_IGNORE);
    if (statuses != MPI_STATUSES_IGNORE) statuses[*outcount].MPI_ERROR = MPI_SUCCESS;
    indices[(*outcount)++] = ready;
  }
  return finish_many(handles, statuses, code);
}

int waitsome(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  if (!any_ours(count, requests)) {
    Engine::get().hand_on();
    return next().MPI_Waitsome(count, requests, outcount, indices, statuses);
  }
  Backoff backoff;
  for (;;) {
    const int code = try_some(count, requests, outcount, indices, statuses);
    if (*outcount != 0 || code != MPI_SUCCESS) return code;
    backoff.pause();
  }
}

}  // namespace
}  // namespace strake::interpose

using namespace strake::interpose;

STRAKE_MPI int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  return boundary(
      MPI_COMM_WORLD, [&] { return next().MPI_Wait(request, status); },
      [&] { return wait(request, status); });
}

STRAKE_MPI int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return boundary(
      MPI_COMM_WORLD, [&] { return next().MPI_Test(request, flag, status); },
      [&] { return test(request, flag, status); });
}

STRAKE_MPI int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  return boundary(
      MPI_COMM_WORLD, [&] { return next().MPI_Waitall(count, requests, statuses); },
      [&] { return waitall(count, requests, statuses); });
}

STRAKE_MPI int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  return boundary(
      MPI_COMM_WORLD, [&] { return next().MPI_Testall(count, requests, flag, statuses); },
      [&] { return testall(count, requests, flag, statuses); });
}

STRAKE_MPI int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  return boundary(
      MPI_COMM_WORLD, [&] { return next().MPI_Waitany(count, requests, index, status); },
      [&] { return waitany(count, requests, index, status); });
}

STRAKE_MPI int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag,
                           MPI_Status* status) {
  return boundary(
      MPI_COMM_WORLD, [&] { return next().MPI_Testany(count, requests, index, flag, status); },
      [&] { return testany(count, requests, index, flag, status); });
}

STRAKE_MPI int MPI_Waitsome(int count, MPI_Request requests[], int* outcount, int indices[],
                            MPI_Status statuses[]) {
  return boundary(
      MPI_COMM_WORLD,
      [&] { return next().MPI_Waitsome(count, requests, outcount, indices, statuses); },
      [&] { return waitsome(count, requests, outcount, indices, statuses); });
}

STRAKE_MPI int MPI_Testsome(int count, MPI_Request requests[], int* outcount, int indices[],
                            MPI_Status statuses[]) {
  const auto theirs = [&] {
    return next().MPI_Testsome(count, requests, outcount, indices, statuses);
  };
  return boundary(MPI_COMM_WORLD, theirs, [&] {
    if (any_ours(count, requests)) return try_some(count, requests, outcount, indices, statuses);
    Engine::get().progress();
    return theirs();
  });
}

STRAKE_MPI int MPI_Request_free(MPI_Request* request) {
  const auto theirs = [&] { return next().MPI_Request_free(request); };
  return boundary(MPI_COMM_WORLD, theirs, [&] {
    if (!any_ours(1, request)) return theirs();
    Engine::get().hand_on();
    const MPI_Request handle = *request;
    const int code = theirs();
    if (code == MPI_SUCCESS) Engine::get().abandon(handle);
    return code;
  });
}

STRAKE_MPI int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  const auto theirs = [&] { return next().MPI_Request_get_status(request, flag, status); };
  return boundary(MPI_COMM_WORLD, theirs, [&] {
    Engine& engine = Engine::get();
    engine.progress();
    const Engine::Found found = engine.idle() ? Engine::Found{} : engine.find(request);
    if (found.pending) {
      *flag = 0;
      return MPI_SUCCESS;
    }
    const int code = theirs();
    if (found.persistent && found.complete && status != MPI_STATUS_IGNORE) *status = found.status;
    return code;
  });
}

STRAKE_MPI int MPI_Cancel(MPI_Request* request) {
  const auto theirs = [&] { return next().MPI_Cancel(request); };
  return boundary(MPI_COMM_WORLD, theirs, [&] {
    if (!any_ours(1, request)) return theirs();
    Engine::get().cancel(*request);
    return MPI_SUCCESS;
  });
}
