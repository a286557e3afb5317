/// \file  A rank that is blocked in a call still serves its peers: point-to-point cases, each of
/// which ends only if every blocking call makes progress on earlier messages.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "described.hpp"

namespace {

struct Kit {
  Described large = describe::large();
  Described medium = describe::medium();
  Image a_out{large, 3}, b_out{medium, 2}, a_in{large, 3}, b_in{medium, 2};
  Kit() {
    a_out.fill(1);
    b_out.fill(2);
  }
};

/// Sender: Isend A, Isend B, Wait B. Receiver: Recv A, Recv B. A must travel while the sender waits
/// for B.
void wait_for_the_second() {
  check::section("Isend A, Isend B, Wait B; Recv A, Recv B");
  Kit kit;
  if (check::rank() % 2 == 0 && check::rank() + 1 < check::size()) {
    const int to = check::rank() + 1;
    MPI_Request a = MPI_REQUEST_NULL, b = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Isend(kit.a_out.data(), 3, kit.large.type, to, 1, MPI_COMM_WORLD, &a));
    CHECK_MPI(MPI_Issend(kit.b_out.data(), 2, kit.medium.type, to, 2, MPI_COMM_WORLD, &b));
    CHECK_MPI(MPI_Wait(&b, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Wait(&a, MPI_STATUS_IGNORE));
  } else if (check::rank() % 2 == 1) {
    const int from = check::rank() - 1;
    CHECK_MPI(
        MPI_Recv(kit.a_in.data(), 3, kit.large.type, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_MPI(
        MPI_Recv(kit.b_in.data(), 2, kit.medium.type, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(kit.a_in.holds(1));
    CHECK(kit.b_in.holds(2));
  }
}

/// Waitall of a receive whose message is here and of a token that comes only when A has arrived.
void waitall_of_done_and_token() {
  check::section("Irecv B, Irecv token, Isend A, Waitall B and token");
  Kit kit;
  if (check::rank() % 2 == 0 && check::rank() + 1 < check::size()) {
    const int peer = check::rank() + 1;
    MPI_Request received[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, a = MPI_REQUEST_NULL;
    CHECK_MPI(
        MPI_Irecv(kit.b_in.data(), 2, kit.medium.type, peer, 2, MPI_COMM_WORLD, &received[0]));
    CHECK_MPI(MPI_Irecv(nullptr, 0, MPI_INT, peer, 9, MPI_COMM_WORLD, &received[1]));
    for (int flag = 0; flag == 0;)
      CHECK_MPI(MPI_Request_get_status(received[0], &flag, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Isend(kit.a_out.data(), 3, kit.large.type, peer, 1, MPI_COMM_WORLD, &a));
    CHECK_MPI(MPI_Waitall(2, received, MPI_STATUSES_IGNORE));
    CHECK_MPI(MPI_Wait(&a, MPI_STATUS_IGNORE));
    CHECK(kit.b_in.holds(2));
  } else if (check::rank() % 2 == 1) {
    const int peer = check::rank() - 1;
    CHECK_MPI(MPI_Send(kit.b_out.data(), 2, kit.medium.type, peer, 2, MPI_COMM_WORLD));
    CHECK_MPI(
        MPI_Recv(kit.a_in.data(), 3, kit.large.type, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(kit.a_in.holds(1));
    CHECK_MPI(MPI_Send(nullptr, 0, MPI_INT, peer, 9, MPI_COMM_WORLD));
  }
}

/// Like the first, but the receiver needs both before it answers, and the sender is blocked in
/// `blocked`.
template <class Blocked>
void serve_while_blocked(const char* name, Blocked blocked) {
  check::section(name);
  Kit kit;
  // Every rank sends A to the next and receives it from the previous by Irecv + Wait; then a token
  // tells the sender that A arrived. The sender waits for the token without having completed A.
  MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Irecv(kit.a_in.data(), 3, kit.large.type, check::previous(), 1, MPI_COMM_WORLD,
                      &receive));
  CHECK_MPI(
      MPI_Isend(kit.a_out.data(), 3, kit.large.type, check::next(), 1, MPI_COMM_WORLD, &send));
  if (check::rank() == 0) {
    blocked(check::next());  // ends only when A has reached the next rank
    CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Send(nullptr, 0, MPI_INT, check::previous(), 9, MPI_COMM_WORLD));
  } else {
    CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK(kit.a_in.holds(1));
    CHECK_MPI(MPI_Send(nullptr, 0, MPI_INT, check::previous(), 9, MPI_COMM_WORLD));
    blocked(check::next());
  }
  CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  CHECK(kit.a_in.holds(1));
}

void blocked_in_calls() {
  if (check::size() == 1) return;
  const auto take = [](int from) {
    CHECK_MPI(MPI_Recv(nullptr, 0, MPI_INT, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  };
  serve_while_blocked("blocked in Recv", take);
  serve_while_blocked("blocked in Probe", [&](int from) {
    CHECK_MPI(MPI_Probe(from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    take(from);
  });
  serve_while_blocked("blocked in Mprobe", [](int from) {
    MPI_Message message = MPI_MESSAGE_NULL;
    CHECK_MPI(MPI_Mprobe(from, 9, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Mrecv(nullptr, 0, MPI_INT, &message, MPI_STATUS_IGNORE));
  });
  serve_while_blocked("polling Iprobe", [&](int from) {
    int flag = 0;
    while (!flag) CHECK_MPI(MPI_Iprobe(from, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    take(from);
  });
  serve_while_blocked("polling Improbe", [](int from) {
    MPI_Message message = MPI_MESSAGE_NULL;
    int flag = 0;
    while (!flag)
      CHECK_MPI(MPI_Improbe(from, 9, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Mrecv(nullptr, 0, MPI_INT, &message, MPI_STATUS_IGNORE));
  });
  serve_while_blocked("blocked in Wait of an Irecv", [](int from) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Irecv(nullptr, 0, MPI_INT, from, 9, MPI_COMM_WORLD, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  });
  serve_while_blocked("polling Test of an Irecv", [](int from) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Irecv(nullptr, 0, MPI_INT, from, 9, MPI_COMM_WORLD, &request));
    int flag = 0;
    while (!flag) CHECK_MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  });
  serve_while_blocked("polling Request_get_status of an Irecv", [](int from) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Irecv(nullptr, 0, MPI_INT, from, 9, MPI_COMM_WORLD, &request));
    int flag = 0;
    while (!flag) CHECK_MPI(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  });
  serve_while_blocked("blocked in Waitany", [](int from) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    CHECK_MPI(MPI_Irecv(nullptr, 0, MPI_INT, from, 9, MPI_COMM_WORLD, &requests[1]));
    int index = -1;
    CHECK_MPI(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
    CHECK_EQ(index, 1);
  });
  serve_while_blocked("blocked in Waitsome", [](int from) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Irecv(nullptr, 0, MPI_INT, from, 9, MPI_COMM_WORLD, &request));
    int index = -1, count = 0;
    CHECK_MPI(MPI_Waitsome(1, &request, &count, &index, MPI_STATUSES_IGNORE));
    CHECK_EQ(count, 1);
  });
  serve_while_blocked("blocked in Wait of a persistent receive", [](int from) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Recv_init(nullptr, 0, MPI_INT, from, 9, MPI_COMM_WORLD, &request));
    CHECK_MPI(MPI_Start(&request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Request_free(&request));
  });
}

/// A synchronous send to a rank that first waits for something else from us.
void blocked_in_ssend() {
  check::section("blocked in Ssend");
  if (check::size() == 1) return;
  Kit kit;
  MPI_Request send = MPI_REQUEST_NULL;
  if (check::rank() == 0) {
    CHECK_MPI(MPI_Isend(kit.a_out.data(), 3, kit.large.type, 1, 1, MPI_COMM_WORLD, &send));
    CHECK_MPI(MPI_Ssend(kit.b_out.data(), 2, kit.medium.type, 1, 2, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  } else if (check::rank() == 1) {
    CHECK_MPI(
        MPI_Recv(kit.a_in.data(), 3, kit.large.type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_MPI(
        MPI_Recv(kit.b_in.data(), 2, kit.medium.type, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(kit.a_in.holds(1));
    CHECK(kit.b_in.holds(2));
  }
}

/// Two large blocking sends meet: each rank has the receive posted before.
void head_to_head() {
  check::section("Irecv, Send, Wait by all");
  Kit kit;
  MPI_Request receive = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Irecv(kit.a_in.data(), 3, kit.large.type, check::previous(), 4, MPI_COMM_WORLD,
                      &receive));
  CHECK_MPI(MPI_Send(kit.a_out.data(), 3, kit.large.type, check::next(), 4, MPI_COMM_WORLD));
  CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  CHECK(kit.a_in.holds(1));
}

/// Sendrecv around the ring, each turn with what the last one brought.
void rings() {
  check::section("Sendrecv ring");
  const Described type = describe::large();
  Image here(type, 1), there(type, 1);
  here.fill(static_cast<std::uint64_t>(check::rank()));
  Image* holding = &here;
  Image* empty = &there;
  for (int turn = 0; turn < check::size(); ++turn) {
    empty->poison();
    CHECK_MPI(MPI_Sendrecv(holding->data(), 1, type.type, check::next(), 5, empty->data(), 1,
                           type.type, check::previous(), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    std::swap(holding, empty);
  }
  CHECK(holding->holds(static_cast<std::uint64_t>(check::rank())));
  check::section("Sendrecv_replace ring");
  for (int turn = 0; turn < check::size(); ++turn)
    CHECK_MPI(MPI_Sendrecv_replace(holding->data(), 1, type.type, check::next(), 6,
                                   check::previous(), 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(holding->holds(static_cast<std::uint64_t>(check::rank())));
}

/// A rank that waits for a third one serves a second; all pairs at once.
void everyone_to_everyone() {
  check::section("everyone to everyone, completed in reverse");
  const Described type = describe::large();
  const auto ranks = static_cast<std::size_t>(check::size());
  std::vector<Image> out, in;
  std::vector<MPI_Request> requests(2 * ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    out.emplace_back(type, 1);
    in.emplace_back(type, 1);
    out[r].fill(static_cast<std::uint64_t>(check::rank()) * 100 + r);
  }
  for (std::size_t r = 0; r < ranks; ++r)
    CHECK_MPI(MPI_Isend(out[r].data(), 1, type.type, static_cast<int>(r), 7, MPI_COMM_WORLD,
                        &requests[r]));
  for (std::size_t r = 0; r < ranks; ++r)
    CHECK_MPI(MPI_Irecv(in[r].data(), 1, type.type, static_cast<int>(r), 7, MPI_COMM_WORLD,
                        &requests[ranks + r]));
  for (std::size_t i = requests.size(); i-- > 0;)
    CHECK_MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
  for (std::size_t r = 0; r < ranks; ++r)
    CHECK(in[r].holds(r * 100 + static_cast<std::uint64_t>(check::rank())));
}

/// A collective write that other ranks wait for, in the same call as a receive that waits for them.
/// A rank that spins on memory which it shares with the receiver, as the standard has it.
void window_sync() {
  check::section("Isend, then MPI_Win_sync until the receiver has answered in shared memory");
  if (check::size() == 1) return;
  const Described type = describe::small();  // so short that MPI keeps it for a receiver
  MPI_Win window = MPI_WIN_NULL;
  int* answers = nullptr;
  const MPI_Aint mine = check::rank() == 0 ? static_cast<MPI_Aint>(sizeof(int)) : 0;
  CHECK_MPI(MPI_Win_allocate_shared(mine, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                                    static_cast<void*>(&answers), &window));
  MPI_Aint size = 0;
  int unit = 0;
  CHECK_MPI(MPI_Win_shared_query(window, 0, &size, &unit, static_cast<void*>(&answers)));
  CHECK_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, window));
  volatile int* const answer = answers;
  if (check::rank() == 0) *answer = 0;
  CHECK_MPI(MPI_Win_sync(window));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int turn = 1; turn <= 20; ++turn) {
    Image image(type, 1);
    if (check::rank() == 0) {
      image.fill(static_cast<std::uint64_t>(turn));
      MPI_Request request = MPI_REQUEST_NULL;
      CHECK_MPI(MPI_Isend(image.data(), 1, type.type, 1, 13, MPI_COMM_WORLD, &request));
      while (*answer != turn) CHECK_MPI(MPI_Win_sync(window));
      CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (check::rank() == 1) {
      CHECK_MPI(MPI_Recv(image.data(), 1, type.type, 0, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(image.holds(static_cast<std::uint64_t>(turn)));
      *answer = turn;
      CHECK_MPI(MPI_Win_sync(window));
    }
  }
  CHECK_MPI(MPI_Win_unlock_all(window));
  CHECK_MPI(MPI_Win_free(&window));
}

void file_write_beside_a_receive() {
  check::section("Irecv and File_iwrite_all in one Waitall, one Testall");
  if (check::size() < 2) return;
  std::string path = "strake-progress-" + std::to_string(getpid());
  path.resize(64);
  CHECK_MPI(MPI_Bcast(path.data(), 64, MPI_CHAR, 0, MPI_COMM_WORLD));
  MPI_File file = MPI_FILE_NULL;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path.c_str(),
                          MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                          &file));
  constexpr int kBytes = 1024, kBlocks = 200;
  MPI_Datatype mine = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_vector(kBlocks, kBytes, kBytes * check::size(), MPI_BYTE, &mine));
  CHECK_MPI(MPI_Type_commit(&mine));
  CHECK_MPI(MPI_File_set_view(file, MPI_Offset{kBytes} * check::rank(), MPI_BYTE, mine, "native",
                              MPI_INFO_NULL));
  const std::vector<char> written(kBytes * kBlocks, 'a');
  const Described type = describe::large();
  const int last = check::size() - 1;
  for (const bool poll : {false, true}) {
    Image out(type, 1), in(type, 1);
    out.fill(5);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (check::rank() == 0)
      CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, last, 8, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_File_iwrite_all(file, written.data(), kBytes * kBlocks, MPI_BYTE, &requests[1]));
    if (poll) {
      for (int flag = 0; flag == 0;)
        CHECK_MPI(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
    } else {
      CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    if (check::rank() == 0) CHECK(in.holds(5));
    if (check::rank() == last) CHECK_MPI(MPI_Send(out.data(), 1, type.type, 0, 8, MPI_COMM_WORLD));
  }
  check::section("Irecv and File_iwrite_at in one Waitall");
  CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  {
    Image out(type, 1), in(type, 1);
    out.fill(6);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    if (check::rank() == 0)
      CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, last, 9, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(
        MPI_File_iwrite_at(file, 0, written.data(), kBytes * kBlocks, MPI_BYTE, &requests[1]));
    if (check::rank() == last) {
      usleep(20'000);  // the write is over by then
      CHECK_MPI(MPI_Send(out.data(), 1, type.type, 0, 9, MPI_COMM_WORLD));
    }
    CHECK_MPI(MPI_Waitall(2, requests, statuses));
    int count = -1;
    CHECK_MPI(MPI_Get_count(&statuses[1], MPI_BYTE, &count));
    CHECK_EQ(count, kBytes * kBlocks);
    CHECK(requests[1] == MPI_REQUEST_NULL);
    if (check::rank() == 0) CHECK(in.holds(6));
  }
  CHECK_MPI(MPI_File_close(&file));
  CHECK_MPI(MPI_Type_free(&mine));
}

/// [s] Of one poll, at best, while `count` receives are in flight.
double poll_beside(int count) {
  const Described type = describe::small();
  const auto receives = static_cast<std::size_t>(count);
  std::vector<Image> in;
  std::vector<MPI_Request> requests(receives);
  for (std::size_t i = 0; i < receives; ++i) {
    in.emplace_back(type, 1);
    CHECK_MPI(MPI_Irecv(in[i].data(), 1, type.type, 0, 3, MPI_COMM_SELF, &requests[i]));
  }
  double best = 1;
  for (int turn = 0; turn < 10; ++turn) {
    constexpr int kPolls = 100;
    const double begin = MPI_Wtime();
    for (int i = 0, flag = 0; i < kPolls; ++i)
      CHECK_MPI(MPI_Iprobe(0, 4, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    best = std::min(best, (MPI_Wtime() - begin) / kPolls);
  }
  Image out(type, 1);
  out.fill(6);
  for (std::size_t i = 0; i < receives; ++i)
    CHECK_MPI(MPI_Send(out.data(), 1, type.type, 0, 3, MPI_COMM_SELF));
  CHECK_MPI(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE));
  for (Image& image : in) CHECK(image.holds(6));
  return best;
}

void polls_cost_the_same_beside_many_receives() {
  check::section("Iprobe beside 8 and 400 receives");
  if (check::rank() != 0) return;
  const double few = poll_beside(8);
  const double many = poll_beside(400);
  CHECK(many < 12 * few);  // 50 times where each poll asks for all
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  wait_for_the_second();
  waitall_of_done_and_token();
  blocked_in_calls();
  blocked_in_ssend();
  head_to_head();
  rings();
  everyone_to_everyone();
  window_sync();
  file_write_beside_a_receive();
  polls_cost_the_same_beside_many_receives();
  return check::finish();
}
