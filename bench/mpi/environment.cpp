#include "mpi/environment.hpp"

#include <mpi.h>

#include <cstdio>

#include "support/turns.hpp"

namespace bench {

Environment::Environment(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  Turns::instance().join(rank_, [] {
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  });
}

Environment::~Environment() {
  MPI_Finalize();
  Turns::instance().leave();
}

std::string Environment::library() const {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<std::size_t>(length));
  if (all.rfind("Open MPI v", 0) == 0) return "Open MPI " + all.substr(10, all.find(',') - 10);
  const std::size_t version = all.find_first_of("0123456789");
  if (all.rfind("MPICH", 0) == 0 && version != std::string::npos) {
    return "MPICH " + all.substr(version, all.find_first_of(" \t\n", version) - version);
  }
  return all.substr(0, all.find('\n'));
}

void Environment::require_ranks(int wanted) const {
  if (ranks_ == wanted) return;
  if (rank_ == 0) {
    std::fprintf(stderr, "this benchmark runs on %d ranks, not on %d\n", wanted, ranks_);
  }
  MPI_Abort(MPI_COMM_WORLD, 2);
}

bool all_ranks(bool yes) {
  int all = yes ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all == 1;
}

}  // namespace bench
