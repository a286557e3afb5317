/// \file  Threads of one rank send derived types at the same time, each with its own tag or
/// communicator; types come and go meanwhile.
#include <thread>

#include "described.hpp"
#include "two_threads.hpp"

namespace {

constexpr int kThreads = 3;
constexpr int kTurns = 25;

void turn_of(int thread, int turn, MPI_Comm comm) {
  Described type = describe::commit(
      turn % 3 == 0 ? describe::hvector(2000 + 100 * thread, 4, 48, describe::integer())
      : turn % 3 == 1
          ? describe::vector(10 + turn, 2, 5 + thread, describe::integer())
          : describe::subarray(60, 50, 30 + thread, 20 + turn, 3, 4, describe::integer()));
  Image out(type, 2), in(type, 2);
  const auto seed = static_cast<std::uint64_t>(thread * 1000 + turn);
  out.fill(seed);
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  switch (turn % 4) {
    case 0:
      CHECK_MPI(MPI_Irecv(in.data(), 2, type.type, check::previous(), thread, comm, &requests[0]));
      CHECK_MPI(MPI_Isend(out.data(), 2, type.type, check::next(), thread, comm, &requests[1]));
      CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      break;
    case 1:
      CHECK_MPI(MPI_Sendrecv(out.data(), 2, type.type, check::next(), thread, in.data(), 2,
                             type.type, check::previous(), thread, comm, MPI_STATUS_IGNORE));
      break;
    case 2: {
      CHECK_MPI(MPI_Issend(out.data(), 2, type.type, check::next(), thread, comm, &requests[0]));
      MPI_Message message = MPI_MESSAGE_NULL;
      CHECK_MPI(MPI_Mprobe(check::previous(), thread, comm, &message, MPI_STATUS_IGNORE));
      CHECK_MPI(MPI_Mrecv(in.data(), 2, type.type, &message, MPI_STATUS_IGNORE));
      CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
      break;
    }
    default:
      CHECK_MPI(
          MPI_Recv_init(in.data(), 2, type.type, check::previous(), thread, comm, &requests[0]));
      CHECK_MPI(MPI_Send_init(out.data(), 2, type.type, check::next(), thread, comm, &requests[1]));
      CHECK_MPI(MPI_Startall(2, requests));
      for (int done = 0; done < 2;) {
        int index = MPI_UNDEFINED;
        CHECK_MPI(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
        if (index == MPI_UNDEFINED) break;
        ++done;
      }
      CHECK_MPI(MPI_Request_free(&requests[0]));
      CHECK_MPI(MPI_Request_free(&requests[1]));
  }
  CHECK(in.holds(seed));
}

void all_threads(const char* name, const std::vector<MPI_Comm>& comms, bool collective) {
  check::section(name);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int turn = 0; turn < kTurns; ++turn) {
        turn_of(t, turn, comms[static_cast<std::size_t>(t)]);
        if (collective && turn % 8 == 0) CHECK_MPI(MPI_Barrier(comms[static_cast<std::size_t>(t)]));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  int provided = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  check::started(argc, argv);
  check::note("thread level %d of %d", provided, MPI_THREAD_MULTIPLE);
  if (provided == MPI_THREAD_MULTIPLE) {
    all_threads("threads with a tag each", {MPI_COMM_WORLD, MPI_COMM_WORLD, MPI_COMM_WORLD}, false);
    std::vector<MPI_Comm> comms(kThreads);
    for (MPI_Comm& comm : comms) CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    all_threads("threads with a communicator each", comms, true);
    for (MPI_Comm& comm : comms) CHECK_MPI(MPI_Comm_free(&comm));
    answered_in_another_thread(MPI_COMM_WORLD);
  }
  return check::finish();
}
