// Calls that return at once: short and long ones from one place, and some that fail. Prints how
// long the sends took, by the program's own clock; check_sampled.py compares the summary with that.
#include <mpi.h>

#include <array>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  constexpr int kRounds = 10'000;
  constexpr std::array<int, 2> kBytes{8, 64 << 10};
  std::vector<char> out(kBytes[1], 'x');
  std::vector<char> in(kBytes[1]);
  double seconds = 0;
  for (int round = 0; round < kRounds; ++round) {
    // One send in five is long, and one in a hundred fails.
    const int bytes = kBytes[round % 5 == 4 ? 1 : 0];
    const bool fails = round % 100 == 99;
    std::array<MPI_Request, 2> requests{};
    MPI_Irecv(in.data(), bytes, MPI_BYTE, 0, 1, MPI_COMM_SELF, &requests[0]);
    const double begin = MPI_Wtime();
    const int code =
        MPI_Isend(out.data(), fails ? -1 : bytes, MPI_BYTE, 0, 1, MPI_COMM_SELF, &requests[1]);
    seconds += MPI_Wtime() - begin;
    if ((code == MPI_SUCCESS) == fails) {
      std::printf("round %d: code %d\n", round, code);
      return 1;
    }
    if (fails) MPI_Isend(out.data(), bytes, MPI_BYTE, 0, 1, MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  }
  std::printf("sends took %.9f s\n", seconds);
  MPI_Finalize();
  return 0;
}
