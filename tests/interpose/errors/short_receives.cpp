// Receives that are too short, in all ways to receive, and survived: probes then tell the size of
// the next message, which comes whole; and memory that ranks share for messages comes back. The
// argument: what comes first, a way, "fitting" or "held".
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

// [bytes] Too little for any message that stands for a longer one, or enough for some of them.
constexpr int kRooms[] = {100, 900};
int g_room = kRooms[0];
constexpr int kHeader = 992;   // [bytes] as messages may have that stand for longer ones
constexpr int kColumn = 2048;  // rows of a long message
constexpr int kTag = 5;

/// A message: bytes, or so many rows of four bytes that lie eight apart.
struct Message {
  int bytes;
  bool rows;
};
constexpr Message kPlain{500, false};
constexpr Message kDense{3000, false};
constexpr Message kMark{kHeader, false};
constexpr Message kLong{4 * kColumn, true};
constexpr Message kLonger{8 * kColumn, true};

/// Used often, since a type that is used once is left to the MPI library.
MPI_Datatype type_of(const Message& message) {
  static std::map<int, MPI_Datatype> known;
  MPI_Datatype& made = known.emplace(message.bytes, MPI_DATATYPE_NULL).first->second;
  if (made != MPI_DATATYPE_NULL) return made;
  if (message.rows) {
    CHECK_MPI(MPI_Type_vector(message.bytes / 4, 4, 8, MPI_BYTE, &made));
  } else {
    CHECK_MPI(MPI_Type_contiguous(message.bytes, MPI_BYTE, &made));
  }
  CHECK_MPI(MPI_Type_commit(&made));
  return made;
}

std::vector<char> bytes_of(int seed) {
  std::vector<char> bytes(4 * kLonger.bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(static_cast<std::size_t>(seed) * 37 + i / 4);
  return bytes;
}

/// Sends them in turn, the first with seed 1.
class Sends {
 public:
  explicit Sends(const std::vector<Message>& messages) {
    for (const Message& message : messages) {
      MPI_Datatype type = type_of(message);
      bytes_.push_back(bytes_of(static_cast<int>(bytes_.size()) + 1));
      MPI_Request request = MPI_REQUEST_NULL;
      CHECK_MPI(MPI_Isend(bytes_.back().data(), 1, type, 1, kTag, MPI_COMM_WORLD, &request));
      requests_.push_back(request);
    }
  }
  void finish() {
    CHECK_MPI(
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
  }

 private:
  std::deque<std::vector<char>> bytes_;
  std::vector<MPI_Request> requests_;
};

/// Takes `message` by `call(data, type, status)`.
template <typename Call>
void receive_by(const Call& call, const Message& message, int seed) {
  MPI_Status status{};
  int count = 0;
  const std::vector<char> sent = bytes_of(seed);
  std::vector<char> bytes(sent.size());
  CHECK_MPI(call(bytes.data(), type_of(message), &status));
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK_EQ(count, message.bytes);
  const std::size_t step = message.rows ? 8 : 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(message.bytes); ++i) {
    const std::size_t at = message.rows ? i / 4 * step + i % 4 : i;
    if (bytes[at] != sent[at]) return check::fail(__FILE__, __LINE__, "another message came");
  }
}

void receive(MPI_Message matched, const Message& message, int seed) {
  receive_by([&](char* data, MPI_Datatype type,
                 MPI_Status* status) { return MPI_Mrecv(data, 1, type, &matched, status); },
             message, seed);
}

/// The next message, which a probe finds first.
void receive(const Message& message, int seed) {
  MPI_Status status{};
  int count = 0;
  CHECK_MPI(MPI_Probe(0, kTag, MPI_COMM_WORLD, &status));
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK_EQ(count, message.bytes);
  receive_by([](char* data, MPI_Datatype type,
                MPI_Status* at) { return MPI_Recv(data, 1, type, 0, kTag, MPI_COMM_WORLD, at); },
             message, seed);
}

struct Way {
  const char* name;
  void (*receive)(char* room);
};

void expect_truncation(int code) { CHECK_EQ(check::class_name(code), "MPI_ERR_TRUNCATE"); }

MPI_Request posted(char* room, int source = 0) {
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Irecv(room, g_room, MPI_BYTE, source, kTag, MPI_COMM_WORLD, &request));
  return request;
}

void by_sendrecv(char* room, bool replace) {
  std::vector<char> token(static_cast<std::size_t>(g_room));
  MPI_Request own = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Irecv(token.data(), g_room, MPI_BYTE, 1, 9, MPI_COMM_WORLD, &own));
  expect_truncation(replace ? MPI_Sendrecv_replace(room, g_room, MPI_BYTE, 1, 9, MPI_ANY_SOURCE,
                                                   kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
                            : MPI_Sendrecv(room, g_room, MPI_BYTE, 1, 9, room + g_room, g_room,
                                           MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Wait(&own, MPI_STATUS_IGNORE));
}

char* g_room_of_handler = nullptr;
int g_code_of_handler = MPI_SUCCESS;
void handle(MPI_Comm*, int*, ...) {
  g_code_of_handler =
      MPI_Recv(g_room_of_handler, g_room, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
/// In an error handler, inside of a call that has failed.
void by_handler(char* room) {
  g_room_of_handler = room;
  g_code_of_handler = MPI_SUCCESS;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  CHECK_MPI(MPI_Comm_create_errhandler(handle, &handler));
  CHECK_MPI(MPI_Comm_set_errhandler(comm, handler));
  (void)MPI_Send(room, 1, MPI_BYTE, 7, kTag, comm);  // there is no such rank
  expect_truncation(g_code_of_handler);
  CHECK_MPI(MPI_Errhandler_free(&handler));
  CHECK_MPI(MPI_Comm_free(&comm));
}

const std::vector<Way> kWays{{
    {"recv",
     [](char* room) {
       expect_truncation(
           MPI_Recv(room, g_room, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
     }},
    {"any",
     [](char* room) {
       expect_truncation(MPI_Recv(room, g_room, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
     }},
    {"wait",
     [](char* room) {
       MPI_Request request = posted(room);
       expect_truncation(MPI_Wait(&request, MPI_STATUS_IGNORE));
     }},
    {"test",
     [](char* room) {
       MPI_Request request = posted(room, MPI_ANY_SOURCE);
       int flag = 0;
       int code = MPI_SUCCESS;
       while (flag == 0 && code == MPI_SUCCESS) code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
       expect_truncation(code);
     }},
    {"waitall",
     [](char* room) {
       MPI_Request request = posted(room);
       CHECK_EQ(check::class_name(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE)),
                "MPI_ERR_IN_STATUS");
     }},
    {"testall",
     [](char* room) {
       MPI_Request request = posted(room);
       int flag = 0;
       int code = MPI_SUCCESS;
       while (flag == 0 && code == MPI_SUCCESS)
         code = MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
       CHECK_EQ(check::class_name(code), "MPI_ERR_IN_STATUS");
     }},
    {"waitany",
     [](char* room) {
       MPI_Request request = posted(room);
       int index = 0;
       expect_truncation(MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE));
     }},
    {"waitsome",
     [](char* room) {
       MPI_Request request = posted(room);
       int index = 0;
       int count = 0;
       CHECK_EQ(check::class_name(MPI_Waitsome(1, &request, &count, &index, MPI_STATUSES_IGNORE)),
                "MPI_ERR_IN_STATUS");
     }},
    // Beside a receive that has room, and waits for the message after it.
    {"beside",
     [](char* room) {
       std::vector<char> other(1 << 16);
       MPI_Status status;
       MPI_Request requests[2] = {posted(room), MPI_REQUEST_NULL};
       CHECK_MPI(MPI_Irecv(other.data(), 1 << 16, MPI_BYTE, 0, 6, MPI_COMM_WORLD, &requests[1]));
       expect_truncation(MPI_Wait(&requests[0], &status));
       CHECK_MPI(MPI_Cancel(&requests[1]));
       CHECK_MPI(MPI_Wait(&requests[1], &status));
     }},
    {"persistent",
     [](char* room) {
       MPI_Request request = MPI_REQUEST_NULL;
       CHECK_MPI(MPI_Recv_init(room, g_room, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &request));
       CHECK_MPI(MPI_Start(&request));
       expect_truncation(MPI_Wait(&request, MPI_STATUS_IGNORE));
       if (request != MPI_REQUEST_NULL) CHECK_MPI(MPI_Request_free(&request));
     }},
    {"mrecv",
     [](char* room) {
       MPI_Message message = MPI_MESSAGE_NULL;
       CHECK_MPI(MPI_Mprobe(0, kTag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
       expect_truncation(MPI_Mrecv(room, g_room, MPI_BYTE, &message, MPI_STATUS_IGNORE));
     }},
    {"imrecv",
     [](char* room) {
       MPI_Message message = MPI_MESSAGE_NULL;
       MPI_Request request = MPI_REQUEST_NULL;
       CHECK_MPI(MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
       CHECK_MPI(MPI_Imrecv(room, g_room, MPI_BYTE, &message, &request));
       expect_truncation(MPI_Wait(&request, MPI_STATUS_IGNORE));
     }},
    {"sendrecv", [](char* room) { by_sendrecv(room, false); }},
    {"replace", [](char* room) { by_sendrecv(room, true); }},
    {"handler", by_handler},
#if MPI_VERSION >= 4
    {"ireplace",
     [](char* room) {
       std::vector<char> token(static_cast<std::size_t>(g_room));
       MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
       CHECK_MPI(MPI_Irecv(token.data(), g_room, MPI_BYTE, 1, 9, MPI_COMM_WORLD, &requests[0]));
       CHECK_MPI(MPI_Isendrecv_replace(room, g_room, MPI_BYTE, 1, 9, 0, kTag, MPI_COMM_WORLD,
                                       &requests[1]));
       (void)MPI_Wait(&requests[1], MPI_STATUS_IGNORE);  // MPICH 4.0 tells no error
       CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
     }},
#endif
}};

/// The first message is received by `way`, those after it whole. All have been sent by then.
void one_way(const Way& way, const std::vector<Message>& messages) {
  check::section(way.name);
  if (check::rank() == 0) {
    Sends sends(messages);
    MPI_Barrier(MPI_COMM_WORLD);
    sends.finish();
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<char> room(static_cast<std::size_t>(2 * g_room + 16), 'x');
    way.receive(room.data());
    CHECK(std::count(room.end() - 16, room.end(), 'x') == 16);
    for (std::size_t i = 1; i < messages.size(); ++i) receive(messages[i], static_cast<int>(i) + 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Receives are too short for messages that MPI carries, where others are still to come. Those
/// come whole, by matched probes, the first of them last.
void those_that_are_held() {
  check::section("those that are held");
  std::vector<Message> messages(3, kDense);
  for (int i = 0; i < 6; ++i) messages.push_back(i % 2 == 0 ? kLong : kLonger);
  if (check::rank() == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    Sends sends(messages);
    MPI_Barrier(MPI_COMM_WORLD);
    sends.finish();
  } else {
    std::vector<char> room(static_cast<std::size_t>(g_room));
    MPI_Request requests[3];
    for (MPI_Request& request : requests) request = posted(room.data());
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (MPI_Request& request : requests) expect_truncation(MPI_Wait(&request, MPI_STATUS_IGNORE));
    const auto next = [] {
      MPI_Message message = MPI_MESSAGE_NULL;
      CHECK_MPI(MPI_Mprobe(0, kTag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
      return message;
    };
    MPI_Message first = next();
    for (std::size_t i = 4; i < messages.size(); ++i) {
      MPI_Message message = next();
      receive(message, messages[i], static_cast<int>(i) + 1);
    }
    receive(first, messages[3], 4);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Receives that are too short for the message, and have room for what stands for it, since five
/// lengths of that take turns.
void those_that_header_messages_fit(const std::vector<Way>& ways) {
  check::section("those that header messages fit");
  g_room = kRooms[1];
  if (check::rank() == 0) {
    Sends({kLong, kLonger}).finish();
  } else {
    receive(kLong, 1);
    receive(kLonger, 2);
  }
  for (const Way& way : ways) one_way(way, {kLong, kLonger, kLong, kLonger, kLong});
  g_room = kRooms[0];
}

/// Sends that are refused.
void those_that_are_not_sent() {
  check::section("those that are not sent");
  if (check::rank() == 0) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_EQ(check::class_name(MPI_Send(nullptr, kHeader, MPI_BYTE, 1, kTag, MPI_COMM_WORLD)),
             "MPI_ERR_BUFFER");
    CHECK_EQ(
        check::class_name(MPI_Isend(nullptr, kHeader, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, &request)),
        "MPI_ERR_BUFFER");
    Sends({kLong, kMark, kLonger}).finish();
  } else {
    receive(kLong, 1);
    receive(kMark, 2);
    receive(kLonger, 3);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Messages that fit, into receives with little room.
void those_that_fit() {
  check::section("those that fit");
  MPI_Datatype pairs = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_vector(20, 1, 2, MPI_BYTE, &pairs));
  CHECK_MPI(MPI_Type_commit(&pairs));
  const std::vector<char> sent = bytes_of(3);
  for (int round = 0; round < 30; ++round) {
    if (check::rank() == 0) {
      CHECK_MPI(MPI_Send(sent.data(), 1, pairs, 1, kTag, MPI_COMM_WORLD));
      CHECK_MPI(MPI_Send(sent.data(), round, MPI_BYTE, 1, kTag, MPI_COMM_WORLD));
      continue;
    }
    std::vector<char> room(64, 'x');
    MPI_Status status{};
    int count = 0;
    CHECK_MPI(MPI_Recv(room.data(), 1, pairs, 0, kTag, MPI_COMM_WORLD, &status));
    CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQ(count, 20);
    for (std::size_t i = 0; i < 40; ++i) CHECK(room[i] == (i % 2 == 0 ? sent[i] : 'x'));
    MPI_Request request = MPI_REQUEST_NULL;
    std::fill(room.begin(), room.end(), 'x');
    CHECK_MPI(MPI_Irecv(room.data(), 60, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &request));
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQ(count, round);
    CHECK(std::equal(room.begin(), room.begin() + round, sent.begin()));
    CHECK(std::count(room.begin() + round, room.end(), 'x') == 64 - round);
  }
  CHECK_MPI(MPI_Type_free(&pairs));
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF})
    CHECK_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  std::vector<Way> ways(kWays.begin(), kWays.end());
  const auto first = std::find_if(ways.begin(), ways.end(), [&](const Way& way) {
    return argc > 1 && way.name == std::string(argv[argc - 1]);
  });
  std::rotate(ways.begin(), first == ways.end() ? ways.begin() : first, ways.end());
  // Both ranks know each other's memory then.
  for (int i = 0; i < 40; ++i) {
    MPI_Datatype type = type_of(i % 2 == 0 ? kLong : kLonger);
    std::vector<char> out = bytes_of(1);
    std::vector<char> in(out.size());
    const int peer = 1 - check::rank();
    CHECK_MPI(MPI_Sendrecv(out.data(), 1, type, peer, 1, in.data(), 1, type, peer, 1,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  // Before the first error, from which on short receives are given room.
  const std::string before = argc > 1 ? argv[argc - 1] : "";
  if (before == "fitting") those_that_header_messages_fit(ways);
  if (before == "held") those_that_are_held();
  for (const Way& way : ways) {
    one_way(way, {kMark, kLong, kMark, kLonger});
    one_way(way, {kLong, kLonger, kMark, kLong});
  }
  for (const Way& way : ways) {
    one_way(way, {kPlain, kLong, kLonger, kMark});
    one_way(way, {kMark, kPlain, kLonger});
    one_way(way, {kDense, kLonger, kLong, kMark});
  }
  g_room = kRooms[1];
  for (int round = 0; round < 5; ++round) {
    for (const Way& way : ways) one_way(way, {kLong, kLonger, kLong});
  }
  g_room = kRooms[0];
  those_that_are_not_sent();
  those_that_fit();
  // More than there is room for, by the same way: the page has 1024 places.
  const std::vector<char> sent = bytes_of(1);
  MPI_Datatype type = type_of(kLong);
  for (int i = 0; i < 30; ++i) {
    for (int k = 0; k < 50; ++k) {
      if (check::rank() == 0) {
        CHECK_MPI(MPI_Send(sent.data(), 1, type, 1, kTag, MPI_COMM_WORLD));
      } else {
        std::vector<char> room(static_cast<std::size_t>(2 * g_room));
        ways[0].receive(room.data());
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return check::finish();
}
