/// \file  Results of calls: codes, how often and on which communicator the error handler is called,
/// what a refused call leaves, and the order of indices. All is printed, and must be as without
/// Strake.
#include "described.hpp"
#include "handler_calls.hpp"

namespace {

using handler_calls::count;
using handler_calls::g_called;
using handler_calls::g_where;
using handler_calls::tell;

bool active(MPI_Request request) {
  int flag = 0;
  CHECK_MPI(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  return flag == 0;
}

/// Sends of few bytes to no communicator.
void no_communicator() {
  check::section("no communicator");
  const Described type = describe::commit(describe::vector(100, 1, 2, describe::real()));
  Image out(type, 1), in(type, 1);
  tell("Send", MPI_Send(out.data(), 1, type.type, 0, 1, MPI_COMM_NULL));
  tell("Ssend", MPI_Ssend(out.data(), 1, type.type, 0, 1, MPI_COMM_NULL));
  tell("Sendrecv", MPI_Sendrecv(out.data(), 1, type.type, 0, 1, in.data(), 1, type.type, 0, 1,
                                MPI_COMM_NULL, MPI_STATUS_IGNORE));
  tell("Sendrecv_replace",
       MPI_Sendrecv_replace(in.data(), 1, type.type, 0, 1, 0, 1, MPI_COMM_NULL, MPI_STATUS_IGNORE));
}

/// A Startall that is refused has started nothing.
void refused_startall(MPI_Comm comm) {
  check::section("refused Startall");
  const Described type = describe::medium();
  Image in(type, 1);
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  CHECK_MPI(MPI_Recv_init(in.data(), 1, type.type, check::previous(), 2, comm, &requests[0]));
  tell("Startall with a null request", MPI_Startall(2, requests));
  check::note("the first is active: %d", active(requests[0]));
  tell("Cancel, inactive", MPI_Cancel(&requests[0]));
  CHECK_MPI(MPI_Start(&requests[0]));
#ifndef OPEN_MPI  // which starts it again
  tell("Start, active", MPI_Start(&requests[0]));
#endif
  CHECK_MPI(MPI_Cancel(&requests[0]));
  CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Request_free(&requests[0]));
}

/// A receive that was too short, asked about before it is waited for.
void failed_receive(MPI_Comm comm) {
  check::section("failed receive");
  const Described type = describe::medium();
  Image out(type, 2), in(type, 1);
  MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, check::previous(), 3, comm, &receive));
  CHECK_MPI(MPI_Isend(out.data(), 2, type.type, check::next(), 3, comm, &send));
  int code = MPI_SUCCESS;
  for (int flag = 0; !flag && g_called == 0;) {
    code = MPI_Request_get_status(receive, &flag, MPI_STATUS_IGNORE);
  }
  g_where = "any";  // MPICH 5: itself, Strake: the world
  tell("Request_get_status", code);
  (void)MPI_Wait(&receive, MPI_STATUS_IGNORE);
  CHECK_EQ(g_called, 1);
  g_called = 0;
  CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

/// The error field of a status, which most calls leave alone.
void error_fields(MPI_Comm comm) {
  check::section("error fields");
  const Described type = describe::medium();
  Image out(type, 1), in(type, 1);
  MPI_Status status{};
  status.MPI_ERROR = 77;
  CHECK_MPI(MPI_Sendrecv(out.data(), 1, type.type, check::next(), 4, in.data(), 1, type.type,
                         check::previous(), 4, comm, &status));
  check::note("Sendrecv leaves %d", status.MPI_ERROR);
  status.MPI_ERROR = 77;
  CHECK_MPI(MPI_Sendrecv_replace(in.data(), 1, type.type, check::next(), 4, check::previous(), 4,
                                 comm, &status));
  check::note("Sendrecv_replace leaves %d", status.MPI_ERROR);
}

/// Persistent receives between others, complete at the same time.
void indices_in_order(MPI_Comm comm) {
  check::section("indices in order");
  constexpr int kMessages = 6;
  const Described strided = describe::medium();
  Image out(strided, 1);
  std::vector<Image> in;
  MPI_Request receives[kMessages], sends[kMessages];
  for (int i = 0; i < kMessages; ++i) {
    in.emplace_back(strided, 1);
    void* const to = in.back().data();
    if (i % 2 == 1) {
      CHECK_MPI(MPI_Recv_init(to, 1, strided.type, check::previous(), i, comm, &receives[i]));
      CHECK_MPI(MPI_Start(&receives[i]));
    } else {
      CHECK_MPI(MPI_Irecv(to, 1, strided.type, check::previous(), i, comm, &receives[i]));
    }
    CHECK_MPI(MPI_Isend(out.data(), 1, strided.type, check::next(), i, comm, &sends[i]));
  }
  CHECK_MPI(MPI_Waitall(kMessages, sends, MPI_STATUSES_IGNORE));
  CHECK_MPI(MPI_Barrier(comm));
  usleep(10'000);  // all, or nearly all, are there
  int indices[kMessages];
  MPI_Status statuses[kMessages];
  for (int done = 0, outcount = 0; done < kMessages; done += outcount) {
    CHECK_MPI(MPI_Waitsome(kMessages, receives, &outcount, indices, statuses));
    for (int i = 0; i < outcount; ++i) {
      CHECK(i == 0 || indices[i - 1] < indices[i]);
      CHECK_EQ(statuses[i].MPI_TAG, indices[i]);
    }
  }
  for (int i = 1; i < kMessages; i += 2) CHECK_MPI(MPI_Request_free(&receives[i]));
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_MPI(MPI_Comm_create_errhandler(count, &handler));
  for (MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF, comm}) {
    CHECK_MPI(MPI_Comm_set_errhandler(each, handler));
  }
  no_communicator();
  refused_startall(comm);
  failed_receive(comm);
  error_fields(comm);
  indices_in_order(comm);
  CHECK_MPI(MPI_Errhandler_free(&handler));
  CHECK_MPI(MPI_Comm_free(&comm));
  return check::finish();
}
