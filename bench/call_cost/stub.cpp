// MPI's point-to-point and completion functions, which return at once: loaded between an interposer
// and the MPI library, what is left of a call's time is the interposer's. A send is complete as it
// starts; a receive is complete as soon as it is asked about. For one
// thread, and receives that name a rank and a tag. All other functions are the library's.
#include "call_cost/stub.hpp"

#include <mpi.h>

#include <cstdlib>
#include <cstring>

#include "call_cost/mail.hpp"
#include "call_cost/requests.hpp"

#define STUB extern "C" __attribute__((visibility("default")))

STUB bench::StubControl bench_stub_control;
bench::StubControl bench_stub_control;

namespace {

using namespace bench::stub;
using Kind = Request::Kind;

bench::StubControl& control = bench_stub_control;

void set_status(MPI_Status* status, int source, int tag, MPI_Count bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
#ifdef OPEN_MPI
  status->_cancelled = 0;
  status->_ucount = static_cast<std::size_t>(bytes);
#else
  status->count_lo = static_cast<int>(bytes);
  status->count_hi_and_cancelled = static_cast<int>(bytes >> 32 << 1);
#endif
}

void set_empty(MPI_Status* status) { set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0); }

MPI_Status* element(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

void count_message(const void* buffer) {
  control.program_messages += buffer >= control.program_begin && buffer < control.program_end;
}

void send_now(const void* buffer, MPI_Count count, MPI_Datatype type, int to, int tag) {
  if (to == MPI_PROC_NULL) return;
  count_message(buffer);
  if (control.loop_back) post(buffer, count, type, tag);
}

Request& make(Kind kind, const void* buffer, MPI_Count count, MPI_Datatype type, int peer,
              int tag) {
  Request& made = make_request();
  made.kind = kind;
  made.buffer = const_cast<void*>(buffer);
  made.count = count;
  made.type = type;
  made.peer = peer;
  made.tag = tag;
  return made;
}

int isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Request* request) {
  ++control.calls;
  send_now(buffer, count, type, to, tag);
  if (control.own_send_requests) {
    Request& made = make(Kind::Send, buffer, count, type, to, tag);
    made.active = true;
    *request = handle_of(made);
  } else {
    *request = shared_complete();
  }
  return MPI_SUCCESS;
}

int init(Kind kind, const void* buffer, int count, MPI_Datatype type, int peer, int tag,
         MPI_Request* request) {
  ++control.calls;
  Request& made = make(kind, buffer, count, type, peer, tag);
  made.persistent = true;
  *request = handle_of(made);
  return MPI_SUCCESS;
}

void start(Request& request) {
  request.active = true;
  request.there = false;
  if (request.kind == Kind::Send) {
    send_now(request.buffer, request.count, request.type, request.peer, request.tag);
  } else if (request.peer != MPI_PROC_NULL) {
    count_message(request.buffer);
  }
}

/// Whether a receive has its message, which is delivered the first time.
bool delivered(Request& request) {
  if (request.there) return true;
  if (request.peer == MPI_PROC_NULL) {
    request.bytes = 0;
  } else if (control.loop_back) {
    request.bytes = take(request.buffer, request.count, request.type, request.tag);
    if (request.bytes < 0) return false;
  } else {
    request.bytes = control.message_bytes;
  }
  return request.there = true;
}

/// Whether the request is complete; its status if so. It stays as it is.
bool look(MPI_Request handle, MPI_Status* status) {
  if (handle == MPI_REQUEST_NULL || handle == shared_complete()) {
    set_empty(status);
    return true;
  }
  Request& request = request_of(handle);
  if (!request.active || request.kind == Kind::Send) {
    set_empty(status);
    return true;
  }
  if (request.kind == Kind::Generalised) {
    if (!request.there) return false;
    MPI_Status asked;
    request.query(request.state, &asked);
    if (status != MPI_STATUS_IGNORE) *status = asked;
    return true;
  }
  if (!delivered(request)) return false;
  if (request.peer == MPI_PROC_NULL) {
    set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  } else {
    set_status(status, request.peer, request.tag, request.bytes);
  }
  return true;
}

/// A complete request ends.
void end(MPI_Request& handle) {
  if (handle == MPI_REQUEST_NULL) return;
  if (handle != shared_complete()) {
    Request& request = request_of(handle);
    request.active = false;
    if (request.persistent) return;
    if (request.kind == Kind::Generalised) request.release(request.state);
    drop_request(request);
  }
  handle = MPI_REQUEST_NULL;
}

bool test(MPI_Request& handle, MPI_Status* status) {
  if (!look(handle, status)) return false;
  end(handle);
  return true;
}

void wait(MPI_Request& handle, MPI_Status* status) {
  if (!test(handle, status)) give_up("a wait that nothing ends");
}

bool is_active(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return false;
  return handle == shared_complete() || request_of(handle).active;
}

/// The place of the first active one that is complete, which ends; -1: none; MPI_UNDEFINED: none is
/// active.
int test_any(int count, MPI_Request* requests, MPI_Status* status) {
  int found = MPI_UNDEFINED;
  for (int i = 0; i < count; ++i) {
    if (!is_active(requests[i])) continue;
    if (test(requests[i], status)) return i;
    found = -1;
  }
  if (found == MPI_UNDEFINED) set_empty(status);
  return found;
}

/// How many end; MPI_UNDEFINED: none is active.
int test_some(int count, MPI_Request* requests, int* indices, MPI_Status* statuses) {
  int ended = 0;
  bool active = false;
  for (int i = 0; i < count; ++i) {
    if (!is_active(requests[i])) continue;
    active = true;
    if (test(requests[i], element(statuses, ended))) indices[ended++] = i;
  }
  return active ? ended : MPI_UNDEFINED;
}

void receive_now(void* buffer, int count, MPI_Datatype type, int from, int tag,
                 MPI_Status* status) {
  Request& request = make(Kind::Receive, buffer, count, type, from, tag);
  start(request);
  MPI_Request handle = handle_of(request);
  wait(handle, status);
}

}  // namespace

// Point to point.

#define STUB_SEND(name)                                                                        \
  STUB int name(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm) { \
    ++control.calls;                                                                           \
    send_now(buffer, count, type, to, tag);                                                    \
    return MPI_SUCCESS;                                                                        \
  }
STUB_SEND(MPI_Send)
STUB_SEND(MPI_Ssend)
STUB_SEND(MPI_Rsend)
STUB_SEND(MPI_Bsend)

#define STUB_ISEND(name)                                                                     \
  STUB int name(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm, \
                MPI_Request* request) {                                                      \
    return isend(buffer, count, type, to, tag, request);                                     \
  }
STUB_ISEND(MPI_Isend)
STUB_ISEND(MPI_Issend)
STUB_ISEND(MPI_Irsend)
STUB_ISEND(MPI_Ibsend)

#define STUB_SEND_INIT(name)                                                                 \
  STUB int name(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm, \
                MPI_Request* request) {                                                      \
    return init(Kind::Send, buffer, count, type, to, tag, request);                          \
  }
STUB_SEND_INIT(MPI_Send_init)
STUB_SEND_INIT(MPI_Ssend_init)
STUB_SEND_INIT(MPI_Rsend_init)
STUB_SEND_INIT(MPI_Bsend_init)

STUB int MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm,
                       MPI_Request* request) {
  return init(Kind::Receive, buffer, count, type, from, tag, request);
}

STUB int MPI_Recv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm,
                  MPI_Status* status) {
  ++control.calls;
  receive_now(buffer, count, type, from, tag, status);
  return MPI_SUCCESS;
}

STUB int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm,
                   MPI_Request* request) {
  ++control.calls;
  Request& made = make(Kind::Receive, buffer, count, type, from, tag);
  start(made);
  *request = handle_of(made);
  return MPI_SUCCESS;
}

STUB int MPI_Sendrecv(const void* send_buffer, int send_count, MPI_Datatype send_type, int to,
                      int send_tag, void* buffer, int count, MPI_Datatype type, int from, int tag,
                      MPI_Comm, MPI_Status* status) {
  ++control.calls;
  send_now(send_buffer, send_count, send_type, to, send_tag);
  receive_now(buffer, count, type, from, tag, status);
  return MPI_SUCCESS;
}

STUB int MPI_Start(MPI_Request* request) {
  ++control.calls;
  start(request_of(*request));
  return MPI_SUCCESS;
}

STUB int MPI_Startall(int count, MPI_Request requests[]) {
  ++control.calls;
  for (int i = 0; i < count; ++i) start(request_of(requests[i]));
  return MPI_SUCCESS;
}

// Completion.

STUB int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  ++control.calls;
  wait(*request, status);
  return MPI_SUCCESS;
}

STUB int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  ++control.calls;
  *flag = test(*request, status) ? 1 : 0;
  return MPI_SUCCESS;
}

STUB int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  ++control.calls;
  for (int i = 0; i < count; ++i) wait(requests[i], element(statuses, i));
  return MPI_SUCCESS;
}

STUB int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  ++control.calls;
  *flag = 1;
  for (int i = 0; i < count && *flag != 0; ++i) {
    *flag = look(requests[i], MPI_STATUS_IGNORE) ? 1 : 0;
  }
  for (int i = 0; i < count && *flag != 0; ++i) wait(requests[i], element(statuses, i));
  return MPI_SUCCESS;
}

STUB int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  ++control.calls;
  *index = test_any(count, requests, status);
  if (*index == -1) give_up("a wait that nothing ends");
  return MPI_SUCCESS;
}

STUB int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  ++control.calls;
  const int found = test_any(count, requests, status);
  *flag = found != -1 ? 1 : 0;
  *index = found != -1 ? found : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

STUB int MPI_Waitsome(int count, MPI_Request requests[], int* ended, int indices[],
                      MPI_Status statuses[]) {
  ++control.calls;
  *ended = test_some(count, requests, indices, statuses);
  if (*ended == 0) give_up("a wait that nothing ends");
  return MPI_SUCCESS;
}

STUB int MPI_Testsome(int count, MPI_Request requests[], int* ended, int indices[],
                      MPI_Status statuses[]) {
  ++control.calls;
  *ended = test_some(count, requests, indices, statuses);
  return MPI_SUCCESS;
}

STUB int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  ++control.calls;
  *flag = look(request, status) ? 1 : 0;
  return MPI_SUCCESS;
}

STUB int MPI_Request_free(MPI_Request* handle) {
  ++control.calls;
  if (*handle != shared_complete()) {
    Request& request = request_of(*handle);
    if (request.kind == Kind::Generalised && !request.there) {
      request.freed = true;  // MPI_Grequest_complete ends it
    } else {
      request.persistent = false;
      end(*handle);
    }
  }
  *handle = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

STUB int MPI_Cancel(MPI_Request* /*request*/) {
  ++control.calls;
  return MPI_SUCCESS;  // too late: everything is complete at once
}

// Generalised requests.

STUB int MPI_Grequest_start(MPI_Grequest_query_function* query, MPI_Grequest_free_function* release,
                            MPI_Grequest_cancel_function* /*cancel*/, void* state,
                            MPI_Request* request) {
  ++control.calls;
  Request& made = make_request();
  made.kind = Kind::Generalised;
  made.active = true;
  made.query = query;
  made.release = release;
  made.state = state;
  *request = handle_of(made);
  return MPI_SUCCESS;
}

STUB int MPI_Grequest_complete(MPI_Request handle) {
  ++control.calls;
  Request& request = request_of(handle);
  request.there = true;
  if (request.freed) end(handle);
  return MPI_SUCCESS;
}
