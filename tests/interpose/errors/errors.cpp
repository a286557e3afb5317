/// \file  Bad arguments under MPI_ERRORS_RETURN. The error classes are printed, so that those with
/// and without the interposer can be compared. No buffer may be written.
#include <functional>

#include "described.hpp"

namespace {

/// Runs one call and notes the class of what it returned.
void try_call(const char* name, const std::function<int()>& call) {
  check::section(name);
  check::note("%s: %s", name, check::class_name(call()).c_str());
}

struct Arguments {
  const char* name;
  void* buffer;
  int count;
  MPI_Datatype type;
  int peer;
  int tag;
  // False leaves out calls that crash Open MPI 4.1.4.
  bool init_modes = true;
  bool replace = true;
};

void point_to_point(const Arguments& a, MPI_Comm comm) {
  const auto each = [&](const char* call_name, const std::function<int()>& call) {
    const std::string name = std::string(call_name) + ", " + a.name;
    check::section("point-to-point with bad arguments");
    check::note("%s: %s", name.c_str(), check::class_name(call()).c_str());
  };
  MPI_Request request = MPI_REQUEST_NULL;
  const auto drop = [&](int code) {
    CHECK(code != MPI_SUCCESS || request != MPI_REQUEST_NULL);
    if (code == MPI_SUCCESS) MPI_Request_free(&request);
    return code;
  };
  Image other(describe::byte(), 8);
  each("Send", [&] { return MPI_Send(a.buffer, a.count, a.type, a.peer, a.tag, comm); });
  each("Ssend", [&] { return MPI_Ssend(a.buffer, a.count, a.type, a.peer, a.tag, comm); });
  each("Rsend", [&] { return MPI_Rsend(a.buffer, a.count, a.type, a.peer, a.tag, comm); });
  each("Bsend", [&] { return MPI_Bsend(a.buffer, a.count, a.type, a.peer, a.tag, comm); });
  each("Recv",
       [&] { return MPI_Recv(a.buffer, a.count, a.type, a.peer, a.tag, comm, MPI_STATUS_IGNORE); });
  each("Isend",
       [&] { return drop(MPI_Isend(a.buffer, a.count, a.type, a.peer, a.tag, comm, &request)); });
  each("Issend",
       [&] { return drop(MPI_Issend(a.buffer, a.count, a.type, a.peer, a.tag, comm, &request)); });
  each("Irsend",
       [&] { return drop(MPI_Irsend(a.buffer, a.count, a.type, a.peer, a.tag, comm, &request)); });
  each("Ibsend",
       [&] { return drop(MPI_Ibsend(a.buffer, a.count, a.type, a.peer, a.tag, comm, &request)); });
  each("Irecv",
       [&] { return drop(MPI_Irecv(a.buffer, a.count, a.type, a.peer, a.tag, comm, &request)); });
  each("Send_init", [&] {
    return drop(MPI_Send_init(a.buffer, a.count, a.type, a.peer, a.tag, comm, &request));
  });
  if (a.init_modes) {
    each("Ssend_init", [&] {
      return drop(MPI_Ssend_init(a.buffer, a.count, a.type, a.peer, a.tag, comm, &request));
    });
    each("Rsend_init", [&] {
      return drop(MPI_Rsend_init(a.buffer, a.count, a.type, a.peer, a.tag, comm, &request));
    });
    each("Bsend_init", [&] {
      return drop(MPI_Bsend_init(a.buffer, a.count, a.type, a.peer, a.tag, comm, &request));
    });
  }
  each("Recv_init", [&] {
    return drop(MPI_Recv_init(a.buffer, a.count, a.type, a.peer, a.tag, comm, &request));
  });
  each("Sendrecv, sent", [&] {
    return MPI_Sendrecv(a.buffer, a.count, a.type, a.peer, a.tag, other.data(), 8, MPI_BYTE,
                        MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE);
  });
  each("Sendrecv, received", [&] {
    return MPI_Sendrecv(other.data(), 8, MPI_BYTE, MPI_PROC_NULL, 0, a.buffer, a.count, a.type,
                        a.peer, a.tag, comm, MPI_STATUS_IGNORE);
  });
  if (a.replace) {
    each("Sendrecv_replace", [&] {
      return MPI_Sendrecv_replace(a.buffer, a.count, a.type, a.peer, a.tag, a.peer, a.tag, comm,
                                  MPI_STATUS_IGNORE);
    });
  }
  CHECK(other.untouched());
}

void bad_messages(MPI_Comm comm) {
  const Described type = describe::medium();
  const Described uncommitted = describe::vector(4, 2, 3, describe::integer());
  Image buffer(type, 2);
  void* const data = buffer.data();
  const int self = check::rank();
  int* highest_tag = nullptr;
  int found = 0;
  CHECK_MPI(MPI_Comm_get_attr(comm, MPI_TAG_UB, &highest_tag, &found));
  point_to_point({"count -1", data, -1, type.type, self, 1}, comm);
  point_to_point({"null type", data, 1, MPI_DATATYPE_NULL, self, 1}, comm);
  point_to_point({"uncommitted type", data, 1, uncommitted.type, self, 1, false}, comm);
  point_to_point({"rank = size", data, 1, type.type, check::size(), 1}, comm);
  point_to_point({"rank -77", data, 1, type.type, -77, 1}, comm);
  point_to_point({"tag -77", data, 1, type.type, self, -77}, comm);
  if (*highest_tag < INT32_MAX)
    point_to_point({"tag past the highest", data, 1, type.type, self, *highest_tag + 1}, comm);
  point_to_point({"null communicator", data, 1, type.type, self, 1}, MPI_COMM_NULL);
  point_to_point({"null buffer, basic type", nullptr, 1, MPI_INT, self, 1, true, false}, comm);
#if !defined(OMPI_MAJOR_VERSION) || OMPI_MAJOR_VERSION < 5  // Open MPI 5 reads from it
  point_to_point({"null buffer, derived type", nullptr, 1, type.type, self, 1, true, false}, comm);
#endif
  CHECK(buffer.untouched());
}

/// `good_calls` before the bad ones: what was asked often is remembered, and must not make a bad
/// call look good.
#ifdef OPEN_MPI
constexpr bool kPacksPastTheEnd = false;
#else
constexpr bool kPacksPastTheEnd = true;
#endif

/// MPICH packs past the end of host memory; it is not let into that of a device.
void told(const char* call, const char* name, int code, int position, bool past, int before) {
  const std::string error = check::class_name(code);
  if (!past) return check::note("%s, %s: %s, position %d", call, name, error.c_str(), position);
  if (!test_memory::on_device()) return;
  CHECK_EQ(error, "MPI_ERR_TRUNCATE");
  CHECK_EQ(position, before);
}

void packs(MPI_Comm comm, int good_calls, const Described& type) {
  const Described uncommitted = describe::vector(4, 2, 3, describe::integer());
  const int bytes = type.size();
  Image object(type, 1), from(type, 1);
  from.fill(1);
  const Described byte = describe::byte();
  // MPICH 4.0 packs and unpacks past the size it is given: give it memory of this program there.
  Image packed(byte, 4 * bytes);
  for (int i = 0; i < good_calls; ++i) {
    int at = 0;
    CHECK_MPI(MPI_Pack(from.data(), 1, type.type, packed.data(), bytes, &at, comm));
    at = 0;
    CHECK_MPI(MPI_Unpack(packed.data(), bytes, &at, object.data(), 1, type.type, comm));
    CHECK_EQ(at, bytes);
  }
  packed.poison();
  object.poison();
  struct {
    const char* name;
    int count;
    MPI_Datatype type;
    int size;
    int position;
  } const cases[] = {
      {"buffer one byte short", 1, type.type, bytes - 1, 0},
      {"position one byte late", 1, type.type, bytes, 1},
      {"position at the end", 1, type.type, bytes, bytes},
      {"position past the end", 1, type.type, bytes, bytes + 7},
      {"size 0", 1, type.type, 0, 0},
      {"size -1", 1, type.type, -1, 0},
      {"count -1", -1, type.type, bytes, 0},
      {"null type", 1, MPI_DATATYPE_NULL, bytes, 0},
      {"uncommitted type", 1, uncommitted.type, bytes, 0},
  };
  for (const auto& c : cases) {
    check::section(c.name);
    int position = c.position;
    int code = MPI_Pack(from.data(), c.count, c.type, packed.data(), c.size, &position, comm);
    const bool past =
        kPacksPastTheEnd && c.count == 1 && c.size >= 0 && bytes > c.size - c.position;
    told("Pack", c.name, code, position, past, c.position);
    if (code != MPI_SUCCESS) CHECK(packed.untouched());
    packed.poison();
    object.poison();
    position = c.position;
    code = MPI_Unpack(packed.data(), c.size, &position, object.data(), c.count, c.type, comm);
    told("Unpack", c.name, code, position, past, c.position);
    if (code != MPI_SUCCESS) CHECK(object.untouched());
  }
  int size = 0, position = 0;
  try_call("Pack, null communicator", [&] {
    return MPI_Pack(from.data(), 1, type.type, packed.data(), bytes, &position, MPI_COMM_NULL);
  });
  try_call("Unpack, null communicator", [&] {
    return MPI_Unpack(packed.data(), bytes, &position, object.data(), 1, type.type, MPI_COMM_NULL);
  });
  try_call("Pack_size, count -1", [&] { return MPI_Pack_size(-1, type.type, comm, &size); });
  try_call("Pack_size, null type",
           [&] { return MPI_Pack_size(1, MPI_DATATYPE_NULL, comm, &size); });
  try_call("Pack_size, null communicator",
           [&] { return MPI_Pack_size(1, type.type, MPI_COMM_NULL, &size); });
}

#ifdef MPICH_VERSION
int g_raised = 0;
void count_raised(MPI_Comm* /*comm*/, int* /*code*/, ...) { ++g_raised; }

/// A handle that is no communicator any more (Open MPI's then point to freed memory): the class,
/// and how often the error handler is called.
void freed_communicator() {
  const Described type = describe::medium();
  Image from(type, 1), object(type, 1), packed(describe::byte(), type.size());
  MPI_Comm gone = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_dup(MPI_COMM_SELF, &gone));
  MPI_Comm freed = gone;
  CHECK_MPI(MPI_Comm_free(&freed));
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  CHECK_MPI(MPI_Comm_create_errhandler(count_raised, &handler));
  for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    CHECK_MPI(MPI_Comm_set_errhandler(comm, handler));
  }
  int position = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  const auto told_once = [](const char* name, const std::function<int()>& call) {
    check::section(name);
    g_raised = 0;
    const int code = call();
    check::note("%s: %s, raised %d times", name, check::class_name(code).c_str(), g_raised);
  };
  for (MPI_Datatype each : {type.type, MPI_INT}) {
    told_once("Pack, freed communicator", [&] {
      return MPI_Pack(from.data(), 1, each, packed.data(), type.size(), &position, gone);
    });
    told_once("Unpack, freed communicator", [&] {
      return MPI_Unpack(packed.data(), type.size(), &position, object.data(), 1, each, gone);
    });
  }
  CHECK_EQ(position, 0);
  CHECK(packed.untouched());
  CHECK(object.untouched());
  told_once("Isend, freed communicator",
            [&] { return MPI_Isend(from.data(), 1, type.type, 0, 1, gone, &request); });
  told_once("Irecv, freed communicator",
            [&] { return MPI_Irecv(from.data(), 1, type.type, 0, 1, gone, &request); });
  told_once("Ibsend, freed communicator",
            [&] { return MPI_Ibsend(from.data(), 1, type.type, 0, 1, gone, &request); });
  told_once("Send_init, freed communicator",
            [&] { return MPI_Send_init(from.data(), 1, type.type, 0, 1, gone, &request); });
  told_once("Recv_init, freed communicator",
            [&] { return MPI_Recv_init(from.data(), 1, type.type, 0, 1, gone, &request); });
#if MPICH_NUMVERSION < 40100000  // later ones read from it
  const Described before = describe::commit(describe::vector(3, 2, -5, describe::integer()));
  told_once("Pack, null buffer of a type that begins before it", [&] {
    return MPI_Pack(nullptr, 1, before.type, packed.data(), type.size(), &position, MPI_COMM_WORLD);
  });
#endif
  CHECK_MPI(MPI_Errhandler_free(&handler));
  for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    CHECK_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  }
}
#endif

void requests_and_types(MPI_Comm comm) {
  MPI_Request null = MPI_REQUEST_NULL;
  int flag = 0, index = 0, count = 0;
  MPI_Status status{};
  try_call("Start, null request", [&] { return MPI_Start(&null); });
  try_call("Startall, null request", [&] { return MPI_Startall(1, &null); });
  try_call("Cancel, null request", [&] { return MPI_Cancel(&null); });
  try_call("Request_free, null request", [&] { return MPI_Request_free(&null); });
  try_call("Waitall, count -1", [&] { return MPI_Waitall(-1, &null, MPI_STATUSES_IGNORE); });
  try_call("Waitany, count -1", [&] { return MPI_Waitany(-1, &null, &index, &status); });
  try_call("Testall, count -1", [&] { return MPI_Testall(-1, &null, &flag, MPI_STATUSES_IGNORE); });
  try_call("Waitsome, count -1",
           [&] { return MPI_Waitsome(-1, &null, &count, &index, MPI_STATUSES_IGNORE); });
  MPI_Datatype none = MPI_DATATYPE_NULL;
  try_call("Type_commit, null type", [&] { return MPI_Type_commit(&none); });
  try_call("Type_free, null type", [&] { return MPI_Type_free(&none); });
  MPI_Datatype basic = MPI_INT;
  try_call("Type_commit, basic type", [&] { return MPI_Type_commit(&basic); });
  try_call("Probe, rank = size", [&] { return MPI_Probe(check::size(), 0, comm, &status); });
  try_call("Iprobe, tag -77", [&] { return MPI_Iprobe(0, -77, comm, &flag, &status); });
  MPI_Message message = MPI_MESSAGE_NULL;
  try_call("Mprobe, rank -77", [&] { return MPI_Mprobe(-77, 0, comm, &message, &status); });
  // A good receive gives a status to ask.
  const Described type = describe::medium();
  Image out(type, 1), in(type, 1);
  CHECK_MPI(MPI_Sendrecv(out.data(), 1, type.type, check::rank(), 1, in.data(), 1, type.type,
                         check::rank(), 1, comm, &status));
  try_call("Get_count, null type",
           [&] { return MPI_Get_count(&status, MPI_DATATYPE_NULL, &count); });
  try_call("Get_elements, null type",
           [&] { return MPI_Get_elements(&status, MPI_DATATYPE_NULL, &count); });
}

/// Nowhere to put a result, while a strided receive is under way.
void null_results(MPI_Comm comm) {
  const Described type = describe::medium();
  Image out(type, 1), in(type, 1);
  out.fill(4);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, check::rank(), 2, comm, &request));
  MPI_Status status;
  int flag = 0, index = 0;
  try_call("Test, null flag", [&] { return MPI_Test(&request, nullptr, &status); });
  try_call("Testall, null flag", [&] { return MPI_Testall(1, &request, nullptr, &status); });
  try_call("Testany, null flag",
           [&] { return MPI_Testany(1, &request, &index, nullptr, &status); });
  try_call("Testany, null index",
           [&] { return MPI_Testany(1, &request, nullptr, &flag, &status); });
  try_call("Testsome, null outcount",
           [&] { return MPI_Testsome(1, &request, nullptr, &index, &status); });
  try_call("Request_get_status, null flag",
           [&] { return MPI_Request_get_status(request, nullptr, &status); });
  try_call("Isend, null request",
           [&] { return MPI_Isend(out.data(), 1, type.type, check::rank(), 3, comm, nullptr); });
  CHECK_MPI(MPI_Send(out.data(), 1, type.type, check::rank(), 2, comm));
  CHECK_MPI(MPI_Wait(&request, &status));
  CHECK(in.holds(4));
}

/// After all these errors everything still works.
void still_working(MPI_Comm comm) {
  const Described type = describe::large();
  Image out(type, 1), in(type, 1);
  out.fill(3);
  CHECK_MPI(MPI_Sendrecv(
      out.data(), 1, type.type, (check::rank() + 1) % check::size(), 1, in.data(), 1, type.type,
      (check::rank() + check::size() - 1) % check::size(), 1, comm, MPI_STATUS_IGNORE));
  CHECK(in.holds(3));
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  for (const MPI_Comm each : {comm, MPI_COMM_WORLD, MPI_COMM_SELF})
    CHECK_MPI(MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN));
  bad_messages(comm);
  packs(comm, 0, describe::medium());
  const int good_calls = test_memory::on_device() ? 500 : 5000;  // each waits for the device
  packs(comm, good_calls, describe::medium());
  packs(comm, good_calls, describe::commit(describe::hindexed({12}, {5}, describe::byte())));
  requests_and_types(comm);
  null_results(comm);
#ifdef MPICH_VERSION
  freed_communicator();
#endif
  still_working(comm);
  CHECK_MPI(MPI_Comm_free(&comm));
  return check::finish();
}
