/// \file  Probe, Iprobe, Mprobe, Improbe and the receives of what they found, with derived types.
#include "described.hpp"

namespace {

/// A message on its way to the next rank, of `count` elements.
struct Sent {
  Sent(const Described& type, int count, int tag, std::uint64_t seed) : out(type, count) {
    out.fill(seed);
    CHECK_MPI(
        MPI_Isend(out.data(), count, type.type, check::next(), tag, MPI_COMM_WORLD, &request));
  }
  ~Sent() { CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE)); }
  Image out;
  MPI_Request request = MPI_REQUEST_NULL;
};

void check_status(const MPI_Status& status, const Described& type, int count, int tag) {
  CHECK_EQ(status.MPI_SOURCE, check::previous());
  CHECK_EQ(status.MPI_TAG, tag);
  int found = -1;
  CHECK_MPI(MPI_Get_count(&status, type.type, &found));
  CHECK_EQ(found, count);
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &found));
  CHECK_EQ(found, count * type.size());
  CHECK_MPI(MPI_Get_elements(&status, type.type, &found));
  CHECK_EQ(found, count * type.size() / 4);
}

void probe(const Described& type, int source, int tag) {
  check::section("Probe and Recv");
  const Sent sent(type, 3, 1, 1);
  MPI_Status status{};
  CHECK_MPI(MPI_Probe(source, tag, MPI_COMM_WORLD, &status));
  check_status(status, type, 3, 1);
  CHECK_MPI(MPI_Probe(source, tag, MPI_COMM_WORLD, &status));  // probing takes nothing
  check_status(status, type, 3, 1);
  Image in(type, 3);
  CHECK_MPI(MPI_Recv(in.data(), 3, type.type, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                     &status));
  check_status(status, type, 3, 1);
  CHECK(in.holds(1));
}

void iprobe(const Described& type, int source, int tag) {
  check::section("Iprobe and Irecv");
  const Sent sent(type, 2, 2, 2);
  MPI_Status status{};
  int flag = 0;
  while (!flag) CHECK_MPI(MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &status));
  check_status(status, type, 2, 2);
  Image in(type, 2);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Irecv(in.data(), 2, type.type, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                      &request));
  CHECK_MPI(MPI_Wait(&request, &status));
  check_status(status, type, 2, 2);
  CHECK(in.holds(2));
}

/// A message taken by Mprobe is out of the queue: a later Recv with the same tag gets the one after
/// it.
void mprobe(const Described& type, int source, int tag) {
  check::section("Mprobe and Mrecv");
  const Sent first(type, 2, 3, 3), second(type, 1, 3, 4);
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status{};
  CHECK_MPI(MPI_Mprobe(source, tag, MPI_COMM_WORLD, &message, &status));
  check_status(status, type, 2, 3);
  Image two(type, 2), one(type, 1);
  CHECK_MPI(MPI_Recv(one.data(), 1, type.type, check::previous(), 3, MPI_COMM_WORLD, &status));
  check_status(status, type, 1, 3);
  CHECK(one.holds(4));
  CHECK_MPI(MPI_Mrecv(two.data(), 2, type.type, &message, &status));
  CHECK(message == MPI_MESSAGE_NULL);
  check_status(status, type, 2, 3);
  CHECK(two.holds(3));
}

void improbe(const Described& type, int source, int tag) {
  check::section("Improbe and Imrecv");
  const Sent first(type, 2, 4, 5), second(type, 1, 4, 6);
  MPI_Message messages[2] = {MPI_MESSAGE_NULL, MPI_MESSAGE_NULL};
  MPI_Status status{};
  for (MPI_Message& message : messages) {
    int flag = 0;
    while (!flag) CHECK_MPI(MPI_Improbe(source, tag, MPI_COMM_WORLD, &flag, &message, &status));
  }
  check_status(status, type, 1, 4);
  Image two(type, 2), one(type, 1);
  MPI_Request requests[2];
  CHECK_MPI(MPI_Imrecv(one.data(), 1, type.type, &messages[1], &requests[0]));
  CHECK_MPI(MPI_Imrecv(two.data(), 2, type.type, &messages[0], &requests[1]));
  CHECK(messages[0] == MPI_MESSAGE_NULL && messages[1] == MPI_MESSAGE_NULL);
  MPI_Status statuses[2];
  CHECK_MPI(MPI_Waitall(2, requests, statuses));
  check_status(statuses[0], type, 1, 4);
  check_status(statuses[1], type, 2, 4);
  CHECK(two.holds(5));
  CHECK(one.holds(6));
}

/// Larger receives than the message, into other types than the sender's.
void into_other_types() {
  check::section("matched receives into other types");
  const Described derived = describe::medium();
  const Described dense = describe::commit(describe::contiguous(512, describe::integer()));
  {
    const Sent sent(derived, 1, 5, 7);
    MPI_Message message = MPI_MESSAGE_NULL;
    CHECK_MPI(MPI_Mprobe(check::previous(), 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    Image in(dense, 5);
    MPI_Status status{};
    CHECK_MPI(MPI_Mrecv(in.data(), 5, dense.type, &message, &status));
    int count = 0;
    CHECK_MPI(MPI_Get_count(&status, dense.type, &count));
    CHECK_EQ(count, 3);
    CHECK(in.holds(7, 3 * 512 * sizeof(int)));
  }
  {
    const Sent sent(dense, 2, 5, 8);
    MPI_Message message = MPI_MESSAGE_NULL;
    CHECK_MPI(MPI_Mprobe(check::previous(), 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    Image in(derived, 2);
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Imrecv(in.data(), 2, derived.type, &message, &request));
    MPI_Status status{};
    CHECK_MPI(MPI_Wait(&request, &status));
    int count = 0;
    CHECK_MPI(MPI_Get_count(&status, derived.type, &count));
    CHECK_EQ(count, MPI_UNDEFINED);
    CHECK_MPI(MPI_Get_elements(&status, derived.type, &count));
    CHECK_EQ(count, 1024);
    CHECK(in.holds(8, 2 * 512 * sizeof(int)));
  }
}

/// Nothing there: flags say so. From MPI_PROC_NULL there always is an empty message.
void nothing_and_proc_null() {
  check::section("nothing to probe, MPI_PROC_NULL");
  int flag = 1;
  CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 0);
  MPI_Message message = MPI_MESSAGE_NULL;
  flag = 1;
  CHECK_MPI(MPI_Improbe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 0);

  const Described type = describe::medium();
  Image in(type, 1);
  MPI_Status status{};
  CHECK_MPI(MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  CHECK_MPI(MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &status));
  CHECK_EQ(flag, 1);
  CHECK_MPI(MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status));
  CHECK(message == MPI_MESSAGE_NO_PROC);
  CHECK_MPI(MPI_Mrecv(in.data(), 1, type.type, &message, &status));
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  CHECK(message == MPI_MESSAGE_NULL);
  CHECK_MPI(MPI_Improbe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &message, &status));
  CHECK_EQ(flag, 1);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Imrecv(in.data(), 1, type.type, &message, &request));
  CHECK_MPI(MPI_Wait(&request, &status));
  CHECK(in.untouched());
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  for (const Described& type : {describe::small(), describe::medium(), describe::large()})
    for (const bool wildcards : {false, true}) {
      const int source = wildcards ? MPI_ANY_SOURCE : check::previous();
      for (const auto& step : {probe, iprobe, mprobe, improbe}) {
        // The tag a step uses is its place in this list.
        static int turn = 0;
        step(type, source, wildcards ? MPI_ANY_TAG : turn % 4 + 1);
        ++turn;
        MPI_Barrier(MPI_COMM_WORLD);  // wildcards must not see the next step's message
      }
    }
  into_other_types();
  nothing_and_proc_null();
  return check::finish();
}
