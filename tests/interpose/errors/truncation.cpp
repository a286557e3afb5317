/// \file  Messages longer than the receive: MPI_ERR_TRUNCATE through the error handler, nothing
/// written outside the receive's own bytes, error fields of arrays of statuses, and the next
/// message unharmed.
#include "described.hpp"

namespace {

constexpr int kTag = 4;

void send_and_receive(const Described& type, int sent, int posted, int way, MPI_Comm comm) {
  Image out(type, sent), in(type, posted);
  out.fill(1);
  MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  MPI_Status status{};
  int code = MPI_SUCCESS, flag = 0, index = -1;
  const bool before = way % 2 == 0;  // the receive is posted before the message comes
  const auto post = [&] {
    CHECK_MPI(MPI_Irecv(in.data(), posted, type.type, check::previous(), kTag, comm, &receive));
  };
  if (before && way < 8) {
    post();
    MPI_Barrier(comm);
  }
  CHECK_MPI(MPI_Isend(out.data(), sent, type.type, check::next(), kTag, comm, &send));
  if (!before) {
    CHECK_MPI(MPI_Probe(check::previous(), kTag, comm, MPI_STATUS_IGNORE));
    if (way < 8) post();
  }
  switch (way / 2) {
    case 0:
      code = MPI_Wait(&receive, &status);
      break;
    case 1:
      while (!flag && code == MPI_SUCCESS) code = MPI_Test(&receive, &flag, &status);
      break;
    case 2:
      code = MPI_Waitany(1, &receive, &index, &status);
      break;
    case 3:
      while (!flag && code == MPI_SUCCESS) code = MPI_Testany(1, &receive, &index, &flag, &status);
      break;
    default:
      code = MPI_Recv(in.data(), posted, type.type, check::previous(), kTag, comm, &status);
  }
  CHECK_EQ(check::class_name(code), "MPI_ERR_TRUNCATE");
  CHECK(receive == MPI_REQUEST_NULL);
  if (way / 2 == 0) {
    CHECK_EQ(status.MPI_SOURCE, check::previous());
    CHECK_EQ(status.MPI_TAG, kTag);
  }
  check_gaps(in, type, posted);
  CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

void single_receives(MPI_Comm comm) {
  for (const Described& type : {describe::small(), describe::medium(), describe::large()})
    for (int way = 0; way < 10; ++way) {
      check::section("truncated single receives");
      send_and_receive(type, 3, 1, way, comm);
      send_and_receive(type, 1, 0, way, comm);
    }
}

/// One truncated receive among good ones: MPI_ERR_IN_STATUS, and each status tells its own.
void arrays(MPI_Comm comm, bool waitsome) {
  check::section(waitsome ? "truncated, Waitsome" : "truncated, Waitall");
  const Described type = describe::medium();
  std::vector<Image> out, in;
  MPI_Request sends[3], receives[3];
  for (int i = 0; i < 3; ++i) {
    out.emplace_back(type, 2);
    in.emplace_back(type, i == 1 ? 1 : 2);
    out.back().fill(static_cast<std::uint64_t>(i));
    CHECK_MPI(MPI_Irecv(in.back().data(), i == 1 ? 1 : 2, type.type, check::previous(), i, comm,
                        &receives[i]));
  }
  for (std::size_t i = 0; i < 3; ++i)
    CHECK_MPI(MPI_Isend(out[i].data(), 2, type.type, check::next(), static_cast<int>(i), comm,
                        &sends[i]));
  MPI_Status statuses[3];
  std::string classes[3] = {"MPI_ERR_PENDING", "MPI_ERR_PENDING", "MPI_ERR_PENDING"};
  if (waitsome) {
    bool reported = false;
    for (;;) {
      int indices[3], done = 0;
      const int code = MPI_Waitsome(3, receives, &done, indices, statuses);
      if (done == MPI_UNDEFINED) break;
      if (code != MPI_SUCCESS) {
        CHECK_EQ(check::class_name(code), "MPI_ERR_IN_STATUS");
        reported = true;
      }
      for (int i = 0; i < done; ++i)
        classes[indices[i]] =
            check::class_name(code == MPI_SUCCESS ? MPI_SUCCESS : statuses[i].MPI_ERROR);
    }
    CHECK(reported);
  } else {
    CHECK_EQ(check::class_name(MPI_Waitall(3, receives, statuses)), "MPI_ERR_IN_STATUS");
    // A library may return before the good ones are done, and calls them pending: finish them.
    for (std::size_t i = 0; i < 3; ++i) {
      classes[i] = check::class_name(statuses[i].MPI_ERROR);
      if (classes[i] == "MPI_ERR_PENDING") classes[i] = check::class_name(MPI_SUCCESS);
      if (receives[i] != MPI_REQUEST_NULL) CHECK_MPI(MPI_Wait(&receives[i], &statuses[i]));
    }
  }
  CHECK_EQ(classes[0], "MPI_SUCCESS");
  CHECK_EQ(classes[1], "MPI_ERR_TRUNCATE");
  CHECK_EQ(classes[2], "MPI_SUCCESS");
  CHECK(in[0].holds(0));
  CHECK(in[2].holds(2));
  check_gaps(in[1], type, 1);
  CHECK_MPI(MPI_Waitall(3, sends, MPI_STATUSES_IGNORE));
}

/// A call that receives one message leaves the status's error field alone.
void error_field(MPI_Comm comm) {
  check::section("the error field of a status");
  const Described type = describe::medium();
  for (const int sent : {1, 2}) {
    Image out(type, 2), in(type, 1);
    MPI_Request send = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Isend(out.data(), sent, type.type, check::next(), kTag, comm, &send));
    MPI_Status status{};
    status.MPI_ERROR = 77;
    const int code = MPI_Recv(in.data(), 1, type.type, check::previous(), kTag, comm, &status);
    check::note("%s, MPI_ERROR %d", check::class_name(code).c_str(), status.MPI_ERROR);
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  }
}

/// A truncated message is gone; the one after it with the same tag is received whole.
void next_message(MPI_Comm comm) {
  check::section("the message after a truncated one");
  const Described type = describe::large();
  Image first(type, 2), second(type, 1), in(type, 1);
  first.fill(1);
  second.fill(2);
  MPI_Request sends[2];
  CHECK_MPI(MPI_Isend(first.data(), 2, type.type, check::next(), kTag, comm, &sends[0]));
  CHECK_MPI(MPI_Isend(second.data(), 1, type.type, check::next(), kTag, comm, &sends[1]));
  const int code =
      MPI_Recv(in.data(), 1, type.type, check::previous(), kTag, comm, MPI_STATUS_IGNORE);
  CHECK_EQ(check::class_name(code), "MPI_ERR_TRUNCATE");
  in.poison();
  CHECK_MPI(MPI_Recv(in.data(), 1, type.type, check::previous(), kTag, comm, MPI_STATUS_IGNORE));
  CHECK(in.holds(2));
  CHECK_MPI(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
}

/// A strided message to the process itself, into plain bytes that are too few.
void to_oneself(MPI_Comm comm) {
  check::section("truncated, to oneself");
  for (const int ints : {2, 11, 32, 128, 242, 256, 257, 300, 5000}) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    CHECK_MPI(MPI_Type_vector(ints, 1, 2, MPI_INT, &type));
    CHECK_MPI(MPI_Type_commit(&type));
    const std::vector<int> out(static_cast<std::size_t>(2 * ints), 7);
    std::vector<int> in(static_cast<std::size_t>(ints), -1);
    const int room = ints / 2;
    for (const bool posted : {true, false}) {
      MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
      const auto post = [&] {
        CHECK_MPI(MPI_Irecv(in.data(), room, MPI_INT, check::rank(), 1, comm, &receive));
      };
      if (posted) post();
      CHECK_MPI(MPI_Isend(out.data(), 1, type, check::rank(), 1, comm, &send));
      if (!posted) post();
      CHECK_EQ(check::class_name(MPI_Wait(&receive, MPI_STATUS_IGNORE)), "MPI_ERR_TRUNCATE");
      CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
      CHECK(std::count(in.begin() + room, in.end(), -1) == ints - room);
    }
    CHECK_MPI(MPI_Type_free(&type));
  }
}

#ifndef OPEN_MPI  // which alone completes such arrays in several ways
/// Several failures in one call, of persistent requests, which then start again; and what the call
/// leaves as it was.
void several(MPI_Comm comm, bool strided) {
  check::section("several truncated, Waitall");
  const Described type = describe::medium();
  const Described plain = describe::commit(describe::contiguous(5, describe::byte()));
  const Described& second = strided ? type : plain;
  Image out(type, 2), in(type, 1), out2(second, 2), in2(second, 1), good(type, 1);
  MPI_Request receives[3];
  CHECK_MPI(MPI_Recv_init(in.data(), 1, type.type, check::previous(), 1, comm, &receives[0]));
  CHECK_MPI(MPI_Recv_init(in2.data(), 1, second.type, check::previous(), 2, comm, &receives[1]));
  CHECK_MPI(MPI_Recv_init(good.data(), 1, type.type, check::previous(), 3, comm, &receives[2]));
  for (int sent = 2; sent > 0; --sent) {
    out.fill(static_cast<std::uint64_t>(sent));
    out2.fill(static_cast<std::uint64_t>(sent));
    CHECK_MPI(MPI_Startall(3, receives));
    MPI_Barrier(comm);
    CHECK_MPI(MPI_Send(out.data(), sent, type.type, check::next(), 1, comm));
    CHECK_MPI(MPI_Send(out2.data(), sent, second.type, check::next(), 2, comm));
    CHECK_MPI(MPI_Send(out.data(), 1, type.type, check::next(), 3, comm));
    MPI_Barrier(comm);
    MPI_Status statuses[3];
    const int code = MPI_Waitall(3, receives, statuses);
    if (sent == 1) {
      CHECK_EQ(check::class_name(code), "MPI_SUCCESS");
      continue;
    }
    CHECK_EQ(check::class_name(code), "MPI_ERR_IN_STATUS");
    for (int i = 0; i < 3; ++i) {
      if (check::class_name(statuses[i].MPI_ERROR) != "MPI_ERR_PENDING") continue;
      CHECK_EQ(check::class_name(MPI_Wait(&receives[i], &statuses[i])),
               i < 2 ? "MPI_ERR_TRUNCATE" : "MPI_SUCCESS");
      CHECK_EQ(statuses[i].MPI_TAG, i + 1);
    }
  }
  CHECK(in.holds(1));
  CHECK(in2.holds(1));
  CHECK(good.holds(1));
  for (MPI_Request& request : receives) CHECK_MPI(MPI_Request_free(&request));
}
#endif

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  // MPICH raises errors of request arrays on the world or self communicator.
  for (const MPI_Comm each : {comm, MPI_COMM_WORLD, MPI_COMM_SELF})
    CHECK_MPI(MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN));
  single_receives(comm);
  arrays(comm, false);
  arrays(comm, true);
  error_field(comm);
  next_message(comm);
  to_oneself(comm);
#ifndef OPEN_MPI
  several(comm, true);
  several(comm, false);
#endif
  CHECK_MPI(MPI_Comm_free(&comm));
  return check::finish();
}
