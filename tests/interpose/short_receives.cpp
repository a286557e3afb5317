// Receives that are too short, in all ways to receive, and survived: probes then tell the size of
// the next message, which comes whole; and memory that ranks share for messages comes back. The
// argument: the way that comes first.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

constexpr int kRoom = 100;     // [bytes]
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

/// The next message, which a probe finds first.
void receive(const Message& message, int seed) {
  MPI_Status status{};
  int count = 0;
  CHECK_MPI(MPI_Probe(0, kTag, MPI_COMM_WORLD, &status));
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK_EQ(count, message.bytes);
  MPI_Datatype type = type_of(message);
  const std::vector<char> sent = bytes_of(seed);
  std::vector<char> bytes(sent.size());
  CHECK_MPI(MPI_Recv(bytes.data(), 1, type, 0, kTag, MPI_COMM_WORLD, &status));
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK_EQ(count, message.bytes);
  const std::size_t step = message.rows ? 8 : 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(message.bytes); ++i) {
    const std::size_t at = message.rows ? i / 4 * step + i % 4 : i;
    if (bytes[at] != sent[at]) return check::fail(__FILE__, __LINE__, "another message came");
  }
}

struct Way {
  const char* name;
  void (*receive)(char* room);
};

void expect_truncation(int code) { CHECK_EQ(check::class_name(code), "MPI_ERR_TRUNCATE"); }

MPI_Request posted(char* room, int source = 0) {
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Irecv(room, kRoom, MPI_BYTE, source, kTag, MPI_COMM_WORLD, &request));
  return request;
}

void by_sendrecv(char* room, bool replace) {
  char token[kRoom] = {};
  MPI_Request own = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Irecv(token, kRoom, MPI_BYTE, 1, 9, MPI_COMM_WORLD, &own));
  expect_truncation(replace ? MPI_Sendrecv_replace(room, kRoom, MPI_BYTE, 1, 9, MPI_ANY_SOURCE,
                                                   kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
                            : MPI_Sendrecv(room, kRoom, MPI_BYTE, 1, 9, room + kRoom, kRoom,
                                           MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Wait(&own, MPI_STATUS_IGNORE));
}

const std::array<Way, 14> kWays{{
    {"recv",
     [](char* room) {
       expect_truncation(
           MPI_Recv(room, kRoom, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
     }},
    {"any",
     [](char* room) {
       expect_truncation(MPI_Recv(room, kRoom, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
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
       CHECK_MPI(MPI_Recv_init(room, kRoom, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &request));
       CHECK_MPI(MPI_Start(&request));
       expect_truncation(MPI_Wait(&request, MPI_STATUS_IGNORE));
       if (request != MPI_REQUEST_NULL) CHECK_MPI(MPI_Request_free(&request));
     }},
    {"mrecv",
     [](char* room) {
       MPI_Message message = MPI_MESSAGE_NULL;
       CHECK_MPI(MPI_Mprobe(0, kTag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
       expect_truncation(MPI_Mrecv(room, kRoom, MPI_BYTE, &message, MPI_STATUS_IGNORE));
     }},
    {"imrecv",
     [](char* room) {
       MPI_Message message = MPI_MESSAGE_NULL;
       MPI_Request request = MPI_REQUEST_NULL;
       CHECK_MPI(MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
       CHECK_MPI(MPI_Imrecv(room, kRoom, MPI_BYTE, &message, &request));
       expect_truncation(MPI_Wait(&request, MPI_STATUS_IGNORE));
     }},
    {"sendrecv", [](char* room) { by_sendrecv(room, false); }},
    {"replace", [](char* room) { by_sendrecv(room, true); }},
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
    std::vector<char> room(2 * kRoom + 16, 'x');
    way.receive(room.data());
    CHECK(std::count(room.end() - 16, room.end(), 'x') == 16);
    for (std::size_t i = 1; i < messages.size(); ++i) receive(messages[i], static_cast<int>(i) + 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
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
  for (const Way& way : ways) {
    one_way(way, {kMark, kLong, kMark, kLonger});
    one_way(way, {kLong, kLonger, kMark, kLong});
  }
  for (const Way& way : ways) {
    one_way(way, {kPlain, kLong, kLonger, kMark});
    one_way(way, {kMark, kPlain, kLonger});
    one_way(way, {kDense, kLonger, kLong, kMark});
  }
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
        std::vector<char> room(2 * kRoom);
        ways[0].receive(room.data());
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return check::finish();
}
