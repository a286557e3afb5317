/// \file  Messages of the size of a header message (exchange/transport/shared/lengths.hpp) among
/// longer ones: each probe tells the size of the very next one, however the messages before it were
/// received.
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "described.hpp"

namespace {

constexpr int kTag = 7;

Described scattered() {
  std::vector<int> lengths;
  std::vector<MPI_Aint> at;
  for (int i = 0; i < 3000; ++i) {
    lengths.push_back(1 + i % 3);
    at.push_back(MPI_Aint{20} * i + i % 2 * 4);
  }
  return describe::hindexed(lengths, at, describe::integer());
}

/// 992 bytes without and with gaps, more, and much more.
const std::vector<Described>& types() {
  static const auto& all = *[] {
    auto* const made = new std::vector<Described>;
    made->push_back(describe::commit(describe::contiguous(248, describe::integer())));
    made->push_back(describe::commit(describe::vector(124, 2, 3, describe::integer())));
    made->push_back(describe::medium());
    made->push_back(describe::commit(describe::hvector(2048, 6, 64, describe::integer())));
    made->push_back(describe::commit(describe::contiguous(2000, describe::integer())));
    // A block at an offset, and a list of many blocks, which Strake decodes after some uses.
    made->push_back(describe::commit(describe::hindexed({1500}, {24}, describe::integer())));
    made->push_back(describe::commit(scattered()));
    return made;
  }();
  return all;
}

enum class Way { kEarly, kEarlyPersistent, kRecv, kProbe, kIprobe, kMprobe, kImprobe, kCount };

struct Message {
  const Described* type = nullptr;
  Way way = Way::kRecv;
  bool persistent_send = false;
  bool synchronous = false;
  std::unique_ptr<Image> out, in;
  MPI_Request out_request = MPI_REQUEST_NULL, in_request = MPI_REQUEST_NULL;
  MPI_Message matched = MPI_MESSAGE_NULL;
};

void check_status(const MPI_Status& status, const Message& message) {
  int bytes = -1;
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &bytes));
  CHECK_EQ(bytes, message.type->size());
  CHECK_EQ(status.MPI_SOURCE, check::previous());
  CHECK_EQ(status.MPI_TAG, kTag);
}

void send(Message& message, MPI_Comm comm) {
  void* const data = message.out->data();
  const MPI_Datatype type = message.type->type;
  if (message.persistent_send) {
    CHECK_MPI(MPI_Send_init(data, 1, type, check::next(), kTag, comm, &message.out_request));
    CHECK_MPI(MPI_Start(&message.out_request));
  } else if (message.synchronous) {
    CHECK_MPI(MPI_Issend(data, 1, type, check::next(), kTag, comm, &message.out_request));
  } else {
    CHECK_MPI(MPI_Isend(data, 1, type, check::next(), kTag, comm, &message.out_request));
  }
}

void post(Message& message, MPI_Comm comm) {
  void* const data = message.in->data();
  const MPI_Datatype type = message.type->type;
  if (message.way == Way::kEarly) {
    CHECK_MPI(MPI_Irecv(data, 1, type, check::previous(), kTag, comm, &message.in_request));
  } else {
    CHECK_MPI(MPI_Recv_init(data, 1, type, check::previous(), kTag, comm, &message.in_request));
    CHECK_MPI(MPI_Start(&message.in_request));
  }
}

/// Receives the next message, or matches it.
void receive(Message& message, MPI_Comm comm, std::mt19937& random) {
  const int source = random() % 2 == 0 ? check::previous() : MPI_ANY_SOURCE;
  MPI_Status status{};
  int flag = 0;
  switch (message.way) {
    case Way::kProbe:
      CHECK_MPI(MPI_Probe(source, kTag, comm, &status));
      check_status(status, message);
      break;
    case Way::kIprobe:
      while (flag == 0) CHECK_MPI(MPI_Iprobe(source, kTag, comm, &flag, &status));
      check_status(status, message);
      break;
    case Way::kMprobe:
      if (random() % 4 == 0) {
        CHECK_MPI(MPI_Mprobe(source, kTag, comm, &message.matched, MPI_STATUS_IGNORE));
        return;
      }
      CHECK_MPI(MPI_Mprobe(source, kTag, comm, &message.matched, &status));
      return check_status(status, message);
    case Way::kImprobe:
      while (flag == 0)
        CHECK_MPI(MPI_Improbe(source, kTag, comm, &flag, &message.matched, &status));
      return check_status(status, message);
    default:
      break;
  }
  CHECK_MPI(MPI_Recv(message.in->data(), 1, message.type->type, source, kTag, comm, &status));
  check_status(status, message);
}

void finish(Message& message) {
  MPI_Status status{};
  if (message.matched != MPI_MESSAGE_NULL) {
    void* const data = message.in->data();
    if (message.way == Way::kMprobe) {
      CHECK_MPI(MPI_Mrecv(data, 1, message.type->type, &message.matched, &status));
    } else {
      CHECK_MPI(MPI_Imrecv(data, 1, message.type->type, &message.matched, &message.in_request));
      CHECK_MPI(MPI_Wait(&message.in_request, &status));
    }
    check_status(status, message);
  } else if (message.in_request != MPI_REQUEST_NULL) {
    CHECK_MPI(MPI_Wait(&message.in_request, &status));
    check_status(status, message);
    if (message.way == Way::kEarlyPersistent) CHECK_MPI(MPI_Request_free(&message.in_request));
  }
}

/// All ranks draw the same.
void round(std::mt19937& random, int number, MPI_Comm comm) {
  constexpr int kMessages = 9;
  std::deque<Message> messages;
  const auto early = static_cast<int>(random() % 4);
  for (int i = 0; i < kMessages; ++i) {
    Message& message = messages.emplace_back();
    message.type = &types()[random() % types().size()];
    message.persistent_send = random() % 4 == 0;
    message.synchronous = random() % 4 == 0;
    const auto way = random();
    message.way = static_cast<Way>(i < early ? way % 2 : 2 + way % 5);
    message.out = std::make_unique<Image>(*message.type, 1);
    message.in = std::make_unique<Image>(*message.type, 1);
    message.out->fill(static_cast<std::uint64_t>(100 * number + i));
  }
  for (int i = 0; i < early; ++i) post(messages[static_cast<std::size_t>(i)], comm);
  for (Message& message : messages) send(message, comm);
  for (int i = early; i < kMessages; ++i)
    receive(messages[static_cast<std::size_t>(i)], comm, random);
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) finish(*message);
  for (int i = 0; i < kMessages; ++i) {
    Message& message = messages[static_cast<std::size_t>(i)];
    CHECK_MPI(MPI_Wait(&message.out_request, MPI_STATUS_IGNORE));
    if (message.persistent_send) CHECK_MPI(MPI_Request_free(&message.out_request));
    CHECK(message.in->holds(static_cast<std::uint64_t>(100 * number + i)));
  }
}

void rounds(MPI_Comm comm, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  constexpr int kRounds = 25;
  for (int number = 0; number < kRounds; ++number) round(random, number, comm);
}

/// Images that an error handler receives into. The handler leaves `request`, the receive into
/// `pending`, to be waited for.
struct Inside {
  Image* received = nullptr;
  Image* pending = nullptr;
  MPI_Request request = MPI_REQUEST_NULL;
};
Inside g_inside;

void handler(MPI_Comm* /*comm*/, int* /*code*/, ...) {
  const Described& type = types()[2];
  MPI_Status status{};
  int bytes = -1;
  CHECK_MPI(MPI_Probe(check::previous(), kTag, MPI_COMM_WORLD, &status));
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &bytes));
  CHECK_EQ(bytes, type.size());
  CHECK_MPI(MPI_Recv(g_inside.received->data(), 1, type.type, check::previous(), kTag,
                     MPI_COMM_WORLD, &status));
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &bytes));
  CHECK_EQ(bytes, type.size());
  CHECK_MPI(MPI_Irecv(g_inside.pending->data(), 1, type.type, check::previous(), kTag,
                      MPI_COMM_WORLD, &g_inside.request));
}

void inside_an_error_handler() {
  check::section("inside an error handler");
  const Described& type = types()[2];
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Errhandler made = MPI_ERRHANDLER_NULL;
  CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_MPI(MPI_Comm_create_errhandler(handler, &made));
  CHECK_MPI(MPI_Comm_set_errhandler(comm, made));
  Image first(type, 1), second(type, 1), received(type, 1), pending(type, 1);
  first.fill(1);
  second.fill(2);
  g_inside = {&received, &pending, MPI_REQUEST_NULL};
  MPI_Request requests[2];
  CHECK_MPI(
      MPI_Isend(first.data(), 1, type.type, check::next(), kTag, MPI_COMM_WORLD, &requests[0]));
  CHECK_MPI(
      MPI_Isend(second.data(), 1, type.type, check::next(), kTag, MPI_COMM_WORLD, &requests[1]));
  // A wrapped call, which fails: a rank that is not there.
  (void)MPI_Send(first.data(), 1, type.type, check::size() + 5, kTag, comm);
  CHECK(received.holds(1));
  CHECK_MPI(MPI_Wait(&g_inside.request, MPI_STATUS_IGNORE));
  CHECK(pending.holds(2));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK_MPI(MPI_Errhandler_free(&made));
  CHECK_MPI(MPI_Comm_free(&comm));
}

/// Communicators come and go; one of them is freed while messages are on their way.
void communicators() {
  check::section("communicators");
  for (int i = 0; i < 5; ++i) {
    MPI_Comm dup = MPI_COMM_NULL, split = MPI_COMM_NULL, ring = MPI_COMM_NULL;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    CHECK_MPI(MPI_Comm_split(dup, 0, check::rank(), &split));
    const int dims[] = {check::size()}, periods[] = {1};
    CHECK_MPI(MPI_Cart_create(split, 1, dims, periods, 0, &ring));
    for (MPI_Comm comm : {dup, split, ring}) {
      std::mt19937 random(static_cast<unsigned>(i));
      for (int number = 0; number < 3; ++number) round(random, number, comm);
    }
    const Described& type = types()[2];
    Image out(type, 1), in(type, 1);
    out.fill(static_cast<std::uint64_t>(i));
    MPI_Request requests[2];
    CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, check::previous(), 1, ring, &requests[0]));
    CHECK_MPI(MPI_Isend(out.data(), 1, type.type, check::next(), 1, ring, &requests[1]));
    for (MPI_Comm* const comm : {&ring, &split, &dup}) CHECK_MPI(MPI_Comm_free(comm));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in.holds(static_cast<std::uint64_t>(i)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  check::section("any order");
  // The first messages go by MPI, while the ranks get to know each other.
  rounds(MPI_COMM_WORLD, 1);
  rounds(MPI_COMM_WORLD, 2);
  communicators();
  inside_an_error_handler();
  return check::finish();
}
