// strake-probe-<flavor>: the program of a throwaway job, by which strake doctor and strake measure
// find out how an MPI library behaves.
//   strake-probe-<flavor> ranks   who the ranks are (ranks.cpp)
//   strake-probe-<flavor> gpu     whether MPI takes device pointers (gpu.cpp)
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "program.hpp"

int main(int argc, char** argv) {
  constexpr unsigned kLongest = 30;  // [s] longer than the caller waits: a rank that it could not
  alarm(kLongest);                   // end ends here
  const std::string_view mode = argc == 2 ? argv[1] : "";
  if (mode != "ranks" && mode != "gpu") {
    std::fprintf(stderr, "usage: %s ranks|gpu\n", argv[0]);
    return 2;
  }
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int status =
      mode == "gpu" ? strake::probe::try_gpu(rank, ranks) : strake::probe::tell_ranks(rank, ranks);
  MPI_Finalize();
  return status;
}
