// Children of fork() while messages are on their way: the child sees the bytes as of the fork, and
// what it writes changes no message; what its parent writes does not show there.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.hpp"

namespace {

constexpr int kRows = 256;
constexpr int kPitch = 2048;
constexpr int kRow = 1024;
constexpr int kBytes = kRows * kPitch;

char value(int round, int rank, int at) {
  return static_cast<char>(round * 31 + rank * 7 + at / 5);
}

bool holds(const char* memory, int round, int rank, bool rows_alone) {
  for (int at = 0; at < kBytes; ++at) {
    if ((!rows_alone || at % kPitch < kRow) && memory[at] != value(round, rank, at)) return false;
  }
  return true;
}

/// The child's status: 0 if all is as it should be.
int as_child(char* out, char* in, int round, int rank) {
  if (!holds(out, round, rank, false)) return 1;
  std::memset(out, 1, kBytes);
  std::memset(in, 2, kBytes);
  auto* const own = static_cast<char*>(std::malloc(kBytes));
  if (own == nullptr) return 2;
  std::memset(own, 3, kBytes);
  usleep(20'000);  // the parent writes meanwhile
  for (int at = 0; at < kBytes; ++at)
    if (out[at] != 1 || in[at] != 2 || own[at] != 3) return 3;
  std::free(own);
  return 0;
}

void exchange(MPI_Datatype rows, int round, bool forks) {
  const int rank = check::rank();
  const int peer = 1 - rank;
  auto* out = static_cast<char*>(std::malloc(kBytes));
  auto* in = static_cast<char*>(std::calloc(1, kBytes));
  for (int at = 0; at < kBytes; ++at) out[at] = value(round, rank, at);
  MPI_Request requests[2];
  CHECK_MPI(MPI_Irecv(in, 1, rows, peer, 1, MPI_COMM_WORLD, &requests[0]));
  if (round % 2 == 0) CHECK_MPI(MPI_Isend(out, 1, rows, peer, 1, MPI_COMM_WORLD, &requests[1]));
  const pid_t child = forks ? fork() : 0;
  if (forks && child == 0) _exit(as_child(out, in, round, rank));
  if (round % 2 != 0) CHECK_MPI(MPI_Isend(out, 1, rows, peer, 1, MPI_COMM_WORLD, &requests[1]));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(holds(in, round, peer, true));
  std::memset(out, 4, kBytes);
  if (forks) {
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  std::free(out);
  std::free(in);
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  MPI_Datatype rows = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_vector(kRows, kRow, kPitch, MPI_BYTE, &rows));
  CHECK_MPI(MPI_Type_commit(&rows));
  check::section("without children");
  for (int round = 0; round < 6; ++round) exchange(rows, round, false);
  check::section("one rank forks");
  for (int round = 0; round < 6; ++round) exchange(rows, round, check::rank() == 0);
  check::section("both fork");
  for (int round = 0; round < 6; ++round) exchange(rows, round, true);
  check::section("shells");
  for (int round = 0; round < 2; ++round) {
    CHECK(std::system("exit 0") == 0);
    exchange(rows, round, false);
  }
  CHECK_MPI(MPI_Type_free(&rows));
  return check::finish();
}
