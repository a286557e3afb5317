/// \file  The application called back by MPI: error handlers that throw or complete other requests,
/// generalised requests and attributes of its own whose callbacks wait for messages, buffered sends
/// that are refused, requests that are none.
#include <stdexcept>

#include "described.hpp"

namespace {

constexpr int kTag = 6;

/// A communicator with an error handler. MPICH raises some errors elsewhere: the handler is that of
/// MPI_COMM_WORLD and MPI_COMM_SELF too.
class Handled {
 public:
  explicit Handled(MPI_Comm_errhandler_function* handler) {
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    CHECK_MPI(MPI_Comm_create_errhandler(handler, &made));
    for (const MPI_Comm each : {comm, MPI_COMM_WORLD, MPI_COMM_SELF})
      CHECK_MPI(MPI_Comm_set_errhandler(each, made));
    CHECK_MPI(MPI_Errhandler_free(&made));
  }
  ~Handled() {
    for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF})
      MPI_Comm_set_errhandler(each, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
  }
  Handled(const Handled&) = delete;
  Handled& operator=(const Handled&) = delete;
  MPI_Comm comm = MPI_COMM_NULL;
};

int g_calls = 0;
void count_calls(MPI_Comm* /*comm*/, int* /*code*/, ...) { ++g_calls; }

/// Whether a call was refused with this error. MPICH returns MPI_SUCCESS, since 4.3, where the
/// handler has returned, Strake the error.
bool is_refused(int code, const std::string& error) {
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40300000
  if (code == MPI_SUCCESS) return g_calls > 0;
#endif
  return check::class_name(code) == error;
}

void throw_it(MPI_Comm* /*comm*/, int* /*code*/, ...) {
  throw std::runtime_error("by the handler");
}

void thrown_by_a_handler() {
  check::section("a handler that throws");
  const Handled handled(throw_it);
  const Described type = describe::medium();
  Image out(type, 1);
  int caught = 0;
  for (int i = 0; i < 3; ++i) {
    try {
      MPI_Send(out.data(), 1, type.type, check::size(), kTag, handled.comm);
    } catch (const std::runtime_error&) {
      ++caught;
    }
  }
  CHECK_EQ(caught, 3);
}

/// Each call that completes receives ends some that are too short, and the handler throws: the
/// requests are gone, and messages after them are whole.
void thrown_by_the_handler_of_a_receive() {
  check::section("a handler that throws for a receive");
  const Handled handled(throw_it);
  const Described type = describe::medium();
  Image out(type, 2);
  out.fill(1);
  for (int i = 0; i < 100; ++i) {
    Image in(type, 1);
    MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, check::previous(), kTag, handled.comm, &receive));
    CHECK_MPI(MPI_Isend(out.data(), 2, type.type, check::next(), kTag, handled.comm, &send));
    bool caught = false;
    try {
      int flag = 0;
      if (i % 3 == 0) MPI_Wait(&receive, MPI_STATUS_IGNORE);
      if (i % 3 == 1) MPI_Waitall(1, &receive, MPI_STATUSES_IGNORE);
      while (i % 3 == 2 && flag == 0) MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
    } catch (const std::runtime_error&) {
      caught = true;
    }
    CHECK(caught);
    CHECK(receive == MPI_REQUEST_NULL);
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    Image whole(type, 2);
    CHECK_MPI(
        MPI_Irecv(whole.data(), 2, type.type, check::previous(), 5, MPI_COMM_WORLD, &receive));
    CHECK_MPI(MPI_Isend(out.data(), 2, type.type, check::next(), 5, MPI_COMM_WORLD, &send));
    CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK(whole.holds(1));
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  }
}

MPI_Request g_other = MPI_REQUEST_NULL;
void end_the_other(MPI_Comm* /*comm*/, int* /*code*/, ...) {
  ++g_calls;
  if (g_other == MPI_REQUEST_NULL) return;
  CHECK_MPI(MPI_Cancel(&g_other));
  CHECK_MPI(MPI_Wait(&g_other, MPI_STATUS_IGNORE));
}

void handler_that_ends_another_request() {
  check::section("a handler that cancels and waits");
  const Handled handled(end_the_other);
  const Described type = describe::medium();
  for (const bool poll : {false, true}) {
    g_calls = 0;
    Image in(type, 1), other(type, 1), out(type, 2);
    out.fill(1);
    MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, check::previous(), kTag, handled.comm, &receive));
    CHECK_MPI(
        MPI_Irecv(other.data(), 1, type.type, check::previous(), 77, MPI_COMM_WORLD, &g_other));
    CHECK_MPI(MPI_Isend(out.data(), 2, type.type, check::next(), kTag, handled.comm, &send));
    for (int i = 0, flag = 0; poll && i < 1000; ++i)
      CHECK_MPI(MPI_Iprobe(check::previous(), 78, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(is_refused(MPI_Wait(&receive, MPI_STATUS_IGNORE), "MPI_ERR_TRUNCATE"));
    CHECK_EQ(g_calls, 1);
    CHECK(g_other == MPI_REQUEST_NULL);
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  }
}

int empty_status(void* /*state*/, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
/// Every call that waits for requests does it in callbacks too.
enum class Way { Wait, Waitall, Waitany, Waitsome };
Way g_way = Way::Wait;
int wait_for_the_other(void* /*state*/) {
  int count = 0, index = 0;
  switch (g_way) {
    case Way::Wait:
      break;
    case Way::Waitall:
      return MPI_Waitall(1, &g_other, MPI_STATUSES_IGNORE);
    case Way::Waitany:
      return MPI_Waitany(1, &g_other, &index, MPI_STATUS_IGNORE);
    case Way::Waitsome:
      return MPI_Waitsome(1, &g_other, &count, &index, MPI_STATUSES_IGNORE);
  }
  return MPI_Wait(&g_other, MPI_STATUS_IGNORE);
}
int not_cancelled(void* /*state*/, int /*complete*/) { return MPI_SUCCESS; }

void generalised_request_that_waits() {
  check::section("a generalised request whose end waits for a receive");
  const Described type = describe::medium();
  for (const Way way : {Way::Wait, Way::Waitall, Way::Waitany, Way::Waitsome}) {
    for (const bool persistent : {false, true}) {
      g_way = way;
      Image in(type, 1), out(type, 1);
      out.fill(2);
      MPI_Request send = MPI_REQUEST_NULL, outer = MPI_REQUEST_NULL;
      if (persistent) {
        CHECK_MPI(MPI_Recv_init(in.data(), 1, type.type, check::previous(), kTag, MPI_COMM_WORLD,
                                &g_other));
        CHECK_MPI(MPI_Start(&g_other));
      } else {
        CHECK_MPI(
            MPI_Irecv(in.data(), 1, type.type, check::previous(), kTag, MPI_COMM_WORLD, &g_other));
      }
      CHECK_MPI(MPI_Isend(out.data(), 1, type.type, check::next(), kTag, MPI_COMM_WORLD, &send));
      CHECK_MPI(
          MPI_Grequest_start(empty_status, wait_for_the_other, not_cancelled, nullptr, &outer));
      CHECK_MPI(MPI_Grequest_complete(outer));
      CHECK_MPI(MPI_Wait(&outer, MPI_STATUS_IGNORE));
      CHECK((g_other != MPI_REQUEST_NULL) == persistent);
      CHECK(in.holds(2));
      CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
      if (persistent) CHECK_MPI(MPI_Request_free(&g_other));
    }
  }
}

void refused_buffered_sends() {
  check::section("buffered sends without a buffer");
  const Handled handled(count_calls);
  const Described type = describe::medium();
  Image out(type, 1);
  g_calls = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK(
      is_refused(MPI_Ibsend(out.data(), 1, type.type, check::next(), kTag, handled.comm, &request),
                 "MPI_ERR_BUFFER"));
  CHECK_EQ(g_calls, 1);
}

#ifdef OPEN_MPI
/// Strake's wire type has room for the byte too many. (MPICH raises errors of matched receives
/// elsewhere.)
void matched_and_a_byte_too_long() {
  check::section("a matched message that is a byte too long");
  const Handled handled(count_calls);
  const Described type = describe::commit(describe::vector(3000, 1, 2, describe::byte()));
  for (const bool blocking : {true, false}) {
    g_calls = 0;
    Image in(type, 1);
    std::vector<char> out(3001);
    MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
    MPI_Message message = MPI_MESSAGE_NULL;
    CHECK_MPI(MPI_Isend(out.data(), 3001, MPI_CHAR, check::next(), kTag, handled.comm, &send));
    CHECK_MPI(MPI_Mprobe(check::previous(), kTag, handled.comm, &message, MPI_STATUS_IGNORE));
    int code = MPI_SUCCESS;
    if (blocking) {
      code = MPI_Mrecv(in.data(), 1, type.type, &message, MPI_STATUS_IGNORE);
    } else {
      CHECK_MPI(MPI_Imrecv(in.data(), 1, type.type, &message, &receive));
      code = MPI_Wait(&receive, MPI_STATUS_IGNORE);
    }
    CHECK_EQ(check::class_name(code), "MPI_ERR_TRUNCATE");
    CHECK_EQ(g_calls, 1);
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  }
}

#endif

#if !defined(OMPI_MAJOR_VERSION) || OMPI_MAJOR_VERSION < 5  // Open MPI 5 reads from it
/// An invalid request beside a good one: refused, and the good one can be completed afterwards.
void not_a_request() {
  check::section("an invalid request beside a good one");
  const Handled handled(count_calls);
  const Described type = describe::medium();
  for (int way = 0; way < 6; ++way) {
    Image in(type, 1), out(type, 1);
    out.fill(3);
    MPI_Request requests[2] = {}, send = MPI_REQUEST_NULL;
    CHECK_MPI(
        MPI_Irecv(in.data(), 1, type.type, check::previous(), kTag, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Isend(out.data(), 1, type.type, check::next(), kTag, MPI_COMM_WORLD, &send));
    for (int here = 0; here == 0;)
      CHECK_MPI(MPI_Request_get_status(requests[0], &here, MPI_STATUS_IGNORE));
#ifdef OPEN_MPI
    requests[1] = nullptr;
#else
    requests[1] = 0x12345678;
#endif
    g_calls = 0;
    int count = 1'000'000, index = 1'000'000, flag = 77, indices[2] = {};
    MPI_Status statuses[2] = {};
    const int code = way == 0   ? MPI_Testsome(2, requests, &count, indices, statuses)
                     : way == 1 ? MPI_Waitsome(2, requests, &count, indices, statuses)
                     : way == 2 ? MPI_Testany(2, requests, &index, &flag, statuses)
                     : way == 3 ? MPI_Testall(2, requests, &flag, statuses)
                     : way == 4 ? MPI_Waitall(2, requests, statuses)
                                : MPI_Waitany(2, requests, &index, statuses);
    CHECK(is_refused(code, "MPI_ERR_REQUEST"));
    CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(in.holds(3));
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  }
}
#endif

/// Posting and completing must not take longer each, the more there are.
void many_requests() {
  check::section("20,000 requests");
  constexpr int kRequests = 20'000;
  const Described type = describe::commit(describe::vector(2, 1, 2, describe::integer()));
  const std::vector<int> out = {1, 2, 3, 4};
  std::vector<int> in(4 * std::size_t{kRequests});
  std::vector<MPI_Request> requests(2 * std::size_t{kRequests}, MPI_REQUEST_NULL);
  const double begin = MPI_Wtime();
  for (std::size_t i = 0; i < kRequests; ++i)
    MPI_Irecv(&in[4 * i], 1, type.type, check::previous(), kTag, MPI_COMM_WORLD, &requests[i]);
  for (std::size_t i = 0; i < kRequests; ++i)
    MPI_Isend(out.data(), 1, type.type, check::next(), kTag, MPI_COMM_WORLD,
              &requests[kRequests + i]);
  for (MPI_Request& request : requests) MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(MPI_Wtime() - begin < 10);
  int wrong = 0;
  for (std::size_t i = 0; i < in.size(); ++i)
    wrong += in[i] != (i % 2 == 0 ? static_cast<int>(i % 4) + 1 : 0);
  CHECK_EQ(wrong, 0);
}

/// Messages that an attribute of MPI_COMM_SELF completes in MPI_Finalize.
struct Last {
  Described type = describe::medium();
  Image in{type, 1}, out{type, 1};
  MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
  bool right = false;
};
Last* g_last = nullptr;

int complete_last(MPI_Comm /*comm*/, int /*key*/, void* /*value*/, void* /*state*/) {
  Last& last = *g_last;
  MPI_Isend(last.out.data(), 1, last.type.type, check::rank(), kTag, MPI_COMM_WORLD, &last.send);
  MPI_Wait(&last.receive, MPI_STATUS_IGNORE);
  MPI_Wait(&last.send, MPI_STATUS_IGNORE);
  last.right = last.in.holds(9);
  return MPI_SUCCESS;
}

void begin_last() {
  check::section("requests completed in MPI_Finalize");
  g_last = new Last;  // must outlive main's end
  g_last->out.fill(9);
  CHECK_MPI(MPI_Irecv(g_last->in.data(), 1, g_last->type.type, check::rank(), kTag, MPI_COMM_WORLD,
                      &g_last->receive));
  int key = MPI_KEYVAL_INVALID;
  CHECK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, complete_last, &key, nullptr));
  CHECK_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr));
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  thrown_by_a_handler();
  thrown_by_the_handler_of_a_receive();
  handler_that_ends_another_request();
  generalised_request_that_waits();
  refused_buffered_sends();
#ifdef OPEN_MPI
  matched_and_a_byte_too_long();
#endif
#if !defined(OMPI_MAJOR_VERSION) || OMPI_MAJOR_VERSION < 5
  not_a_request();
#endif
  many_requests();
  begin_last();
  const int result = check::finish();
  if (!g_last->right) std::fprintf(stderr, "FAILED: the last message is wrong\n");
  return result != 0 || !g_last->right ? 1 : 0;
}
