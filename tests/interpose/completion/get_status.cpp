/// \file  MPI_Request_get_status: once it has reported a message, the program may change the
/// received data, and no later call may overwrite that. Statuses are right each time.
#include "described.hpp"

namespace {

/// MPICH since 4.2 makes a persistent request inactive when it tells of it: without Strake, too,
/// the next question, or call that ends it, gets an empty status.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40200000
constexpr bool kTellsOfPersistentOnce = true;
#else
constexpr bool kTellsOfPersistentOnce = false;
#endif

constexpr int kTag = 21;
constexpr int kSent = 2;  ///< elements, of a receive that has room for one more

/// The calls that end a receive.
enum class End { kWait, kTest, kWaitall, kTestall, kWaitany, kTestany, kWaitsome, kTestsome };
constexpr End kEnds[] = {End::kWait,    End::kTest,    End::kWaitall,  End::kTestall,
                         End::kWaitany, End::kTestany, End::kWaitsome, End::kTestsome};

/// Completes a request that is known to be there.
void end(End how, MPI_Request* request, MPI_Status* status) {
  int flag = 0, index = -1, outcount = -1;
  switch (how) {
    case End::kWait:
      return CHECK_MPI(MPI_Wait(request, status));
    case End::kTest:
      CHECK_MPI(MPI_Test(request, &flag, status));
      return CHECK_EQ(flag, 1);
    case End::kWaitall:
      return CHECK_MPI(MPI_Waitall(1, request, status));
    case End::kTestall:
      CHECK_MPI(MPI_Testall(1, request, &flag, status));
      return CHECK_EQ(flag, 1);
    case End::kWaitany:
      CHECK_MPI(MPI_Waitany(1, request, &index, status));
      return CHECK_EQ(index, 0);
    case End::kTestany:
      CHECK_MPI(MPI_Testany(1, request, &index, &flag, status));
      CHECK_EQ(flag, 1);
      return CHECK_EQ(index, 0);
    case End::kWaitsome:
      CHECK_MPI(MPI_Waitsome(1, request, &outcount, &index, status));
      CHECK_EQ(outcount, 1);
      return CHECK_EQ(index, 0);
    case End::kTestsome:
      CHECK_MPI(MPI_Testsome(1, request, &outcount, &index, status));
      CHECK_EQ(outcount, 1);
      return CHECK_EQ(index, 0);
  }
}

void check_status(const MPI_Status& status, const Described& type) {
  CHECK_EQ(status.MPI_SOURCE, check::previous());
  CHECK_EQ(status.MPI_TAG, kTag);
  int count = -1;
  CHECK_MPI(MPI_Get_count(&status, type.type, &count));
  CHECK_EQ(count, kSent);
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK_EQ(count, kSent * type.size());
  int cancelled = -1;
  CHECK_MPI(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(cancelled, 0);
}

/// Asks until the message is there.
void ask(MPI_Request request, MPI_Status* status) {
  const MPI_Request before = request;
  for (int flag = 0; flag == 0;) CHECK_MPI(MPI_Request_get_status(request, &flag, status));
  CHECK(request == before);
}

/// From the answer to the end of a receive that is active.
void asked_then_ended(const Described& type, Image& in, std::uint64_t seed, MPI_Request* receive,
                      bool persistent, End how, bool ignored) {
  const bool tells_again = !persistent || !kTellsOfPersistentOnce;
  MPI_Status status{};
  ask(*receive, ignored ? MPI_STATUS_IGNORE : &status);
  if (!ignored) check_status(status, type);
  CHECK(in.holds(seed, kSent * type.bytes.size()));
  in.poison();
  in.fill(seed + 1000);  // the program's own
  for (int again = 0; again < 2; ++again) {
    status = MPI_Status{};
    ask(*receive, &status);
    if (tells_again) check_status(status, type);
    CHECK(in.holds(seed + 1000));
  }
  // Without an active request these say at once that there is none.
  if (!tells_again && how >= End::kWaitany) how = End::kWaitall;
  status = MPI_Status{};
  end(how, receive, ignored ? MPI_STATUS_IGNORE : &status);
  if (!ignored && tells_again) check_status(status, type);
  CHECK(in.holds(seed + 1000));
}

void receives(const Described& type) {
  check::section("Irecv, asked about");
  std::uint64_t seed = 0;
  for (const End how : kEnds) {
    for (const bool ignored : {false, true}) {
      Image out(type, kSent), in(type, kSent + 1);
      out.fill(++seed);
      MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
      CHECK_MPI(MPI_Irecv(in.data(), kSent + 1, type.type,
                          ignored ? MPI_ANY_SOURCE : check::previous(),
                          ignored ? MPI_ANY_TAG : kTag, MPI_COMM_WORLD, &receive));
      int flag = 1;
      CHECK_MPI(MPI_Request_get_status(receive, &flag, MPI_STATUS_IGNORE));
      CHECK_EQ(flag, 0);
      MPI_Barrier(MPI_COMM_WORLD);  // no rank has sent before all have asked
      CHECK_MPI(
          MPI_Isend(out.data(), kSent, type.type, check::next(), kTag, MPI_COMM_WORLD, &send));
      asked_then_ended(type, in, seed, &receive, false, how, ignored);
      CHECK(receive == MPI_REQUEST_NULL);
      CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
      MPI_Barrier(MPI_COMM_WORLD);  // no message of the next turn meets a receive of any tag
    }
  }
}

/// A persistent receive is inactive after its end, and unpacks again when it was started again.
void persistent_receives(const Described& type) {
  check::section("Recv_init, asked about");
  Image out(type, kSent), in(type, kSent + 1);
  MPI_Request receive = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Recv_init(in.data(), kSent + 1, type.type, check::previous(), kTag, MPI_COMM_WORLD,
                          &receive));
  std::uint64_t seed = 100;
  for (const End how : kEnds) {
    for (const bool ignored : {false, true}) {
      out.fill(++seed);
      in.poison();
      CHECK_MPI(MPI_Start(&receive));
      MPI_Request send = MPI_REQUEST_NULL;
      CHECK_MPI(
          MPI_Isend(out.data(), kSent, type.type, check::next(), kTag, MPI_COMM_WORLD, &send));
      asked_then_ended(type, in, seed, &receive, true, how, ignored);
      CHECK(receive != MPI_REQUEST_NULL);
      // Inactive: an empty status, and nothing is unpacked.
      int flag = 0;
      MPI_Status status{};
      CHECK_MPI(MPI_Request_get_status(receive, &flag, &status));
      CHECK_EQ(flag, 1);
      CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
      CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
      CHECK(in.holds(seed + 1000));
      CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    }
  }
  CHECK_MPI(MPI_Request_free(&receive));
}

/// A request that is complete may be freed instead of being waited for.
void freed_after_the_answer(const Described& type) {
  check::section("freed after the answer");
  for (const bool persistent : {false, true}) {
    Image out(type, kSent), in(type, kSent + 1);
    out.fill(5);
    MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
    auto* const post = persistent ? MPI_Recv_init : MPI_Irecv;
    CHECK_MPI(
        post(in.data(), kSent + 1, type.type, check::previous(), kTag, MPI_COMM_WORLD, &receive));
    if (persistent) CHECK_MPI(MPI_Start(&receive));
    CHECK_MPI(MPI_Isend(out.data(), kSent, type.type, check::next(), kTag, MPI_COMM_WORLD, &send));
    MPI_Status status{};
    ask(receive, &status);
    check_status(status, type);
    CHECK(in.holds(5, kSent * type.bytes.size()));
    in.poison();
    in.fill(6);
    CHECK_MPI(MPI_Request_free(&receive));
    CHECK(receive == MPI_REQUEST_NULL);
    for (int i = 0; i < 10; ++i) CHECK_MPI(MPI_Barrier(MPI_COMM_SELF));
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK(in.holds(6));
  }
}

/// Once a send is said to be complete its buffer is the program's.
void sends(const Described& type) {
  check::section("sends, asked about");
  decltype(&MPI_Isend) kinds[] = {MPI_Isend, MPI_Issend, MPI_Send_init, MPI_Ssend_init};
  for (int kind = 0; kind < 4; ++kind) {
    const bool persistent = kind >= 2;
    Image out(type, 1), in(type, 1);
    MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
    if (persistent) {
      CHECK_MPI(kinds[kind](out.data(), 1, type.type, check::next(), kTag, MPI_COMM_WORLD, &send));
    }
    for (std::uint64_t turn = 0; turn < 4; ++turn) {
      out.fill(turn);
      in.poison();
      CHECK_MPI(
          MPI_Irecv(in.data(), 1, type.type, check::previous(), kTag, MPI_COMM_WORLD, &receive));
      if (persistent) {
        CHECK_MPI(MPI_Start(&send));
      } else {
        CHECK_MPI(
            kinds[kind](out.data(), 1, type.type, check::next(), kTag, MPI_COMM_WORLD, &send));
      }
      MPI_Status status{};
      for (int again = 0; again < 2; ++again) {
        ask(send, turn % 2 == 0 ? &status : MPI_STATUS_IGNORE);
        int cancelled = -1;
        if (turn % 2 == 0) CHECK_MPI(MPI_Test_cancelled(&status, &cancelled));
        CHECK_EQ(cancelled, turn % 2 == 0 ? 0 : -1);
        out.fill(turn + 2000);
      }
      if (turn == 3 && !persistent) {
        CHECK_MPI(MPI_Request_free(&send));
      } else {
        CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
      }
      CHECK_EQ(send != MPI_REQUEST_NULL, persistent);
      CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
      CHECK(in.holds(turn));
    }
    if (persistent) CHECK_MPI(MPI_Request_free(&send));
  }
}

void check_bytes(const MPI_Status& status, const Described& type) {
  CHECK_EQ(status.MPI_SOURCE, check::previous());
  CHECK_EQ(status.MPI_TAG, kTag);
  int bytes = -1;
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &bytes));
  CHECK_EQ(bytes, type.size());
}

/// To tell the size of a long message, Strake asks about the persistent receives that may have got
/// messages before it. These have 992 bytes, as messages may have that stand for long ones.
void asked_for_a_probe(const Described& type, int stride, bool asked) {
  check::section("Recv_init, asked about for a probe");
  const Described before = describe::commit(describe::vector(124, 2, stride, describe::integer()));
  Image out(before, 1), in(before, 1), long_out(type, 1), long_in(type, 1);
  MPI_Request receive = MPI_REQUEST_NULL, sends[2];
  CHECK_MPI(
      MPI_Recv_init(in.data(), 1, before.type, check::previous(), kTag, MPI_COMM_WORLD, &receive));
  std::uint64_t seed = 300;
  for (const End how : kEnds) {
    out.fill(++seed);
    long_out.fill(seed + 50);
    in.poison();
    long_in.poison();
    CHECK_MPI(MPI_Start(&receive));
    CHECK_MPI(
        MPI_Isend(out.data(), 1, before.type, check::next(), kTag, MPI_COMM_WORLD, &sends[0]));
    CHECK_MPI(
        MPI_Isend(long_out.data(), 1, type.type, check::next(), kTag, MPI_COMM_WORLD, &sends[1]));
    MPI_Status status{};
    CHECK_MPI(MPI_Probe(check::previous(), kTag, MPI_COMM_WORLD, &status));
    check_bytes(status, type);
    CHECK_MPI(
        MPI_Recv(long_in.data(), 1, type.type, check::previous(), kTag, MPI_COMM_WORLD, &status));
    check_bytes(status, type);
    CHECK(long_in.holds(seed + 50));
    if (asked) {
      ask(receive, &status);
      check_bytes(status, before);
    }
    // Without Strake nothing else may tell of it then.
    const bool told = asked && kTellsOfPersistentOnce;
    if (!told || how < End::kWaitany) end(how, &receive, &status);
    if (told && how >= End::kWaitany) CHECK_MPI(MPI_Wait(&receive, &status));
    if (!told) check_bytes(status, before);
    CHECK(in.holds(seed));
    CHECK_MPI(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
  }
  CHECK_MPI(MPI_Request_free(&receive));
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
/// The calls for several requests alone say that a message is there.
void asked_together(const Described& type, bool persistent, bool ignored) {
  check::section("Request_get_status_all, _any, _some");
  for (int way = 0; way < 3; ++way) {
    Image out(type, kSent), in(type, kSent + 1);
    out.fill(5);
    MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
    auto* const post = persistent ? MPI_Recv_init : MPI_Irecv;
    CHECK_MPI(
        post(in.data(), kSent + 1, type.type, check::previous(), kTag, MPI_COMM_WORLD, &receive));
    if (persistent) CHECK_MPI(MPI_Start(&receive));
    CHECK_MPI(MPI_Isend(out.data(), kSent, type.type, check::next(), kTag, MPI_COMM_WORLD, &send));
    MPI_Status status{};
    MPI_Status* const one = ignored ? MPI_STATUS_IGNORE : &status;
    MPI_Status* const all = ignored ? MPI_STATUSES_IGNORE : &status;
    for (int flag = 0, index = -1, outcount = 0; flag == 0;) {
      int pending = 0;  // MPICH 5 makes no progress in the others
      CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, kTag + 1, MPI_COMM_WORLD, &pending, MPI_STATUS_IGNORE));
      if (way == 0) CHECK_MPI(MPI_Request_get_status_all(1, &receive, &flag, all));
      if (way == 1) CHECK_MPI(MPI_Request_get_status_any(1, &receive, &index, &flag, one));
      if (way == 2) {
        CHECK_MPI(MPI_Request_get_status_some(1, &receive, &outcount, &index, all));
        flag = outcount;
      }
    }
    if (!ignored) check_status(status, type);
    CHECK(in.holds(5, kSent * type.bytes.size()));
    in.poison();
    in.fill(6);
    CHECK_MPI(MPI_Wait(&receive, &status));
    if (!persistent || !kTellsOfPersistentOnce) check_status(status, type);
    CHECK(in.holds(6));
    if (persistent) CHECK_MPI(MPI_Request_free(&receive));
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  }
}
#endif

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  for (const Described& type : {describe::small(), describe::medium(), describe::large()}) {
    receives(type);
    persistent_receives(type);
    freed_after_the_answer(type);
    sends(type);
    for (const int stride : {2, 3}) {
      for (const bool asked : {false, true}) asked_for_a_probe(type, stride, asked);
    }
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    for (const bool persistent : {false, true}) {
      for (const bool ignored : {false, true}) asked_together(type, persistent, ignored);
    }
#endif
  }
  return check::finish();
}
