/// \file  Contents of a status, and bytes that a receive leaves alone: short messages into larger
/// receives, partial elements, truncation, error fields, gaps and everything past the message.
#include "described.hpp"

namespace {

enum class Receive { kRecv, kIrecv, kSendrecv, kPersistent, kMrecv };
constexpr Receive kReceives[] = {Receive::kRecv, Receive::kIrecv, Receive::kSendrecv,
                                 Receive::kPersistent, Receive::kMrecv};

/// Moves `send_count` of `out_type` to the next rank while receiving up to `count` of `type` in the
/// given way. Returns the receive's error code.
int transfer(Receive how, Image& out, int send_count, MPI_Datatype out_type, Image& in, int count,
             MPI_Datatype type, MPI_Status* status) {
  constexpr int kTag = 4;
  MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  MPI_Message message = MPI_MESSAGE_NULL;
  int code = MPI_SUCCESS;
  if (how != Receive::kSendrecv)
    CHECK_MPI(
        MPI_Isend(out.data(), send_count, out_type, check::next(), kTag, MPI_COMM_WORLD, &send));
  switch (how) {
    case Receive::kRecv:
      code = MPI_Recv(in.data(), count, type, check::previous(), kTag, MPI_COMM_WORLD, status);
      break;
    case Receive::kIrecv:
      CHECK_MPI(
          MPI_Irecv(in.data(), count, type, check::previous(), kTag, MPI_COMM_WORLD, &receive));
      code = MPI_Wait(&receive, status);
      break;
    case Receive::kSendrecv:
      code = MPI_Sendrecv(out.data(), send_count, out_type, check::next(), kTag, in.data(), count,
                          type, check::previous(), kTag, MPI_COMM_WORLD, status);
      break;
    case Receive::kPersistent:
      CHECK_MPI(
          MPI_Recv_init(in.data(), count, type, check::previous(), kTag, MPI_COMM_WORLD, &receive));
      CHECK_MPI(MPI_Start(&receive));
      code = MPI_Wait(&receive, status);
      if (receive != MPI_REQUEST_NULL) CHECK_MPI(MPI_Request_free(&receive));
      break;
    case Receive::kMrecv:
      CHECK_MPI(MPI_Mprobe(check::previous(), kTag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
      code = MPI_Mrecv(in.data(), count, type, &message, status);
      break;
  }
  CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  return code;
}

/// Messages of every length up to two elements of a small type, and around the ends of large ones.
void short_messages() {
  check::section("short messages into larger receives");
  const Described dense = describe::integer();
  std::vector<Described> types;
  types.push_back(describe::commit(describe::vector(3, 2, 4, describe::integer())));
  types.push_back(describe::large());
  types.push_back(describe::commit(describe::subarray(40, 30, 20, 11, 5, 6, describe::integer())));
  for (std::size_t t = 0; t < types.size(); ++t) {
    const Described& type = types[t];
    const int per_element = type.size() / 4;
    std::vector<int> lengths;
    if (t == 0)
      for (int i = 0; i <= 2 * per_element; ++i) lengths.push_back(i);
    else
      lengths = {0, 1, 5, 6, 7, per_element - 1, per_element, per_element + 1, 2 * per_element - 3};
    for (const Receive how : kReceives)
      for (const int integers : lengths) {
        Image out(dense, integers), in(type, 3);
        const auto seed = static_cast<std::uint64_t>(integers);
        out.fill(seed);
        MPI_Status status{};
        CHECK_MPI(transfer(how, out, integers, MPI_INT, in, 3, type.type, &status));
        CHECK(in.holds(seed, static_cast<std::size_t>(integers) * 4));
        CHECK_EQ(status.MPI_SOURCE, check::previous());
        CHECK_EQ(status.MPI_TAG, 4);
        int count = -2, elements = -2;
        CHECK_MPI(MPI_Get_count(&status, type.type, &count));
        CHECK_EQ(count, integers % per_element == 0 ? integers / per_element : MPI_UNDEFINED);
        CHECK_MPI(MPI_Get_elements(&status, type.type, &elements));
        CHECK_EQ(elements, integers);
        MPI_Count large_elements = -2;
        CHECK_MPI(MPI_Get_elements_x(&status, type.type, &large_elements));
        CHECK_EQ(large_elements, integers);
        CHECK_MPI(MPI_Get_count(&status, MPI_INT, &count));
        CHECK_EQ(count, integers);
      }
  }
}

/// Structs of several basic types: elements are counted across members of different size.
void elements_of_structs() {
  check::section("elements of structs");
  const Described byte = describe::byte(), integer = describe::integer(), real = describe::real();
  const Described type =
      describe::commit(describe::structure({3, 2, 5}, {0, 12, 30}, {&integer, &real, &byte}));
  // Whole basic elements only: an element cut in two has no count that the standard defines.
  const int ends[] = {0, 4, 8, 12, 20, 28, 29, 30, 31, 32, 33};
  for (const int whole : {0, 1, 2})
    for (int elements = 0; elements <= 10; ++elements)
      for (const Receive how : {Receive::kRecv, Receive::kIrecv}) {
        const int bytes = whole * type.size() + ends[elements];
        Image out(byte, bytes), in(type, 3);
        out.fill(5);
        MPI_Status status{};
        CHECK_MPI(transfer(how, out, bytes, MPI_BYTE, in, 3, type.type, &status));
        CHECK(in.holds(5, static_cast<std::size_t>(bytes)));
        int found = -2;
        CHECK_MPI(MPI_Get_elements(&status, type.type, &found));
        CHECK_EQ(found, whole * 10 + elements);
        CHECK_MPI(MPI_Get_count(&status, type.type, &found));
        CHECK_EQ(found, elements == 0 ? whole : elements == 10 ? whole + 1 : MPI_UNDEFINED);
      }
}

void proc_null_and_empty() {
  check::section("MPI_PROC_NULL and empty messages");
  const Described type = describe::medium();
  Image in(type, 1), out(type, 1);
  MPI_Status status{};
  int count = -1;
  CHECK_MPI(MPI_Recv(in.data(), 1, type.type, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
  CHECK_MPI(MPI_Get_count(&status, type.type, &count));
  CHECK_EQ(count, 0);
  CHECK_MPI(MPI_Send(out.data(), 1, type.type, MPI_PROC_NULL, 3, MPI_COMM_WORLD));
  for (const Receive how : kReceives) {
    status = MPI_Status{};
    CHECK_MPI(transfer(how, out, 0, type.type, in, 1, type.type, &status));
    CHECK_MPI(MPI_Get_count(&status, type.type, &count));
    CHECK_EQ(count, 0);
    CHECK_EQ(status.MPI_SOURCE, check::previous());
  }
  CHECK(in.untouched());
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  short_messages();
  elements_of_structs();
  proc_null_and_empty();
  return check::finish();
}
