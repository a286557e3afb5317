/// \file  MPI_Cancel: a receive that nothing matches is cancelled; one that was matched completes;
/// a send that could not be cancelled arrives.
#include "described.hpp"

namespace {

bool cancelled(const MPI_Status& status) {
  int flag = -1;
  CHECK_MPI(MPI_Test_cancelled(&status, &flag));
  return flag == 1;
}

void unmatched_receive(const Described& type) {
  check::section("cancel of an unmatched receive");
  Image in(type, 2);
  enum class How {
    kWait,
    kTest,
    kWaitall,
    kTestall,
    kWaitany,
    kTestany,
    kWaitsome,
    kTestsome,
    kAsk
  };
  for (const How how : {How::kWait, How::kTest, How::kWaitall, How::kTestall, How::kWaitany,
                        How::kTestany, How::kWaitsome, How::kTestsome, How::kAsk}) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status{};
    CHECK_MPI(MPI_Irecv(in.data(), 2, type.type, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &request));
    CHECK_MPI(MPI_Cancel(&request));
    CHECK(request != MPI_REQUEST_NULL);
    int flag = 0, index = -1, outcount = 0;
    switch (how) {
      case How::kWait:
        CHECK_MPI(MPI_Wait(&request, &status));
        break;
      case How::kTest:
        while (!flag) CHECK_MPI(MPI_Test(&request, &flag, &status));
        break;
      case How::kWaitall:
        CHECK_MPI(MPI_Waitall(1, &request, &status));
        break;
      case How::kWaitany:
        CHECK_MPI(MPI_Waitany(1, &request, &index, &status));
        CHECK_EQ(index, 0);
        break;
      case How::kTestall:
        while (!flag) CHECK_MPI(MPI_Testall(1, &request, &flag, &status));
        break;
      case How::kTestany:
        while (!flag) CHECK_MPI(MPI_Testany(1, &request, &index, &flag, &status));
        CHECK_EQ(index, 0);
        break;
      case How::kWaitsome:
        CHECK_MPI(MPI_Waitsome(1, &request, &outcount, &index, &status));
        CHECK(outcount == 1 && index == 0);
        break;
      case How::kTestsome:
        while (outcount == 0) {
          CHECK_MPI(MPI_Testsome(1, &request, &outcount, &index, &status));
        }
        CHECK(outcount == 1 && index == 0);
        break;
      case How::kAsk:  // says so, and says it again at the end
        while (!flag) CHECK_MPI(MPI_Request_get_status(request, &flag, &status));
        CHECK(cancelled(status));
        CHECK(in.untouched());
        CHECK_MPI(MPI_Wait(&request, &status));
        break;
    }
    CHECK(cancelled(status));
    CHECK(request == MPI_REQUEST_NULL);
    CHECK(in.untouched());
  }
}

/// The cancelled receive must not swallow a message that comes later.
void message_after_cancel(const Described& type) {
  check::section("message after a cancelled receive");
  const int to = (check::rank() + 1) % check::size();
  const int from = (check::rank() + check::size() - 1) % check::size();
  Image first(type, 1), second(type, 1), out(type, 1);
  out.fill(3);
  MPI_Request requests[2];
  CHECK_MPI(MPI_Irecv(first.data(), 1, type.type, from, 8, MPI_COMM_WORLD, &requests[0]));
  CHECK_MPI(MPI_Irecv(second.data(), 1, type.type, from, 8, MPI_COMM_WORLD, &requests[1]));
  CHECK_MPI(MPI_Cancel(&requests[0]));
  MPI_Status status{};
  CHECK_MPI(MPI_Wait(&requests[0], &status));
  CHECK(cancelled(status));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_Send(out.data(), 1, type.type, to, 8, MPI_COMM_WORLD));
  CHECK_MPI(MPI_Wait(&requests[1], &status));
  CHECK(!cancelled(status));
  CHECK(first.untouched());
  CHECK(second.holds(3));
}

void matched_receive(const Described& type) {
  check::section("cancel of a matched receive");
  const int to = (check::rank() + 1) % check::size();
  const int from = (check::rank() + check::size() - 1) % check::size();
  Image in(type, 1), out(type, 1);
  out.fill(4);
  MPI_Request request = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, from, 9, MPI_COMM_WORLD, &request));
  CHECK_MPI(MPI_Isend(out.data(), 1, type.type, to, 9, MPI_COMM_WORLD, &send));
  int flag = 0;
  while (!flag) CHECK_MPI(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Cancel(&request));
  MPI_Status status{};
  CHECK_MPI(MPI_Wait(&request, &status));
  CHECK(!cancelled(status));
  CHECK(in.holds(4));
  CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

/// Whether a send can be cancelled is the library's choice; it is cancelled or arrives, never both.
void send(const Described& type) {
  check::section("cancel of a send");
  const int to = (check::rank() + 1) % check::size();
  const int from = (check::rank() + check::size() - 1) % check::size();
  Image in(type, 1), out(type, 1);
  out.fill(5);
  MPI_Request request = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Isend(out.data(), 1, type.type, to, 10, MPI_COMM_WORLD, &request));
  CHECK_MPI(MPI_Cancel(&request));
  CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, from, 10, MPI_COMM_WORLD, &receive));
  MPI_Status status{};
  CHECK_MPI(MPI_Wait(&request, &status));
  int mine = cancelled(status) ? 1 : 0, theirs = -1;
  CHECK_MPI(MPI_Sendrecv(&mine, 1, MPI_INT, to, 11, &theirs, 1, MPI_INT, from, 11, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE));
  if (theirs == 1) CHECK_MPI(MPI_Cancel(&receive));
  CHECK_MPI(MPI_Wait(&receive, &status));
  CHECK_EQ(cancelled(status), theirs == 1);
  CHECK(theirs == 1 ? in.untouched() : in.holds(5));
}

void persistent_receive(const Described& type) {
  check::section("cancel of a persistent receive");
  Image in(type, 1), out(type, 1);
  out.fill(6);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Recv_init(in.data(), 1, type.type, check::rank(), 12, MPI_COMM_WORLD, &request));
  for (const bool cancel : {true, false, true, false}) {
    in.poison();
    CHECK_MPI(MPI_Start(&request));
    MPI_Request sent = MPI_REQUEST_NULL;
    if (cancel)
      CHECK_MPI(MPI_Cancel(&request));
    else
      CHECK_MPI(MPI_Isend(out.data(), 1, type.type, check::rank(), 12, MPI_COMM_WORLD, &sent));
    MPI_Status status{};
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_MPI(MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CHECK_EQ(cancelled(status), cancel);
    CHECK(cancel ? in.untouched() : in.holds(6));
    CHECK(request != MPI_REQUEST_NULL);
  }
  CHECK_MPI(MPI_Request_free(&request));
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  for (const Described& type : {describe::small(), describe::medium(), describe::large()}) {
    unmatched_receive(type);
    message_after_cancel(type);
    matched_receive(type);
    send(type);
    persistent_receive(type);
  }
  return check::finish();
}
