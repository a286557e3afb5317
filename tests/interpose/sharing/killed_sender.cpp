// A rank is killed once the header message of its message has left, before, while or after it packs
// it: the other one gets the message, or is told; it does not wait. The first argument: how long
// the rank lives on, in microseconds.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "described.hpp"

namespace {

bool runs(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/stat");
  std::string number, name, state;
  return status >> number >> name >> state && state != "Z";
}

void exchange(Image& out, Image& in, const Described& type, std::uint64_t seed) {
  const int peer = 1 - check::rank();
  out.fill(seed + static_cast<std::uint64_t>(check::rank()));
  in.poison();
  CHECK_MPI(MPI_Sendrecv(out.data(), 1, type.type, peer, 1, in.data(), 1, type.type, peer, 1,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(in.holds(seed + static_cast<std::uint64_t>(peer)));
}

[[noreturn]] void send_and_die(Image& out, const Described& type, useconds_t lives_on) {
  const int self = getpid();
  CHECK_MPI(MPI_Send(&self, 1, MPI_INT, 1, 2, MPI_COMM_WORLD));
  out.fill(100);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Isend(out.data(), 1, type.type, 1, 3, MPI_COMM_WORLD, &request));
  int flag = 0;
  constexpr useconds_t kStep = 20;
  for (useconds_t lived = 0; lived < lives_on; lived += kStep) {
    CHECK_MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    usleep(kStep);
  }
  (void)raise(SIGKILL);
  std::abort();
}

void receive_from_the_dead(Image& in, const Described& type) {
  int sender = 0;
  CHECK_MPI(MPI_Recv(&sender, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  while (runs(sender)) usleep(1000);
  in.poison();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = MPI_Recv(in.data(), 1, type.type, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS) CHECK(in.holds(100));
  std::printf(code == MPI_SUCCESS ? "received\n" : "told\n");
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  const Described type = describe::large();
  Image out(type, 1), in(type, 1);
  check::section("both live");
  for (std::uint64_t seed = 0; seed < 4; ++seed) exchange(out, in, type, seed);
  check::section("one is killed");
  if (check::rank() == 0) send_and_die(out, type, static_cast<useconds_t>(std::atoi(argv[1])));
  receive_from_the_dead(in, type);
  std::fflush(stdout);
  _exit(check::state().failures == 0 ? 0 : 1);  // MPI_Finalize would wait for the other rank
}
