// Start and end: MPI_Init, MPI_Init_thread, MPI_Finalize. Nothing collective, and no device is
// touched.
#include "exchange/engine.hpp"
#include "interpose/boundary.hpp"
#include "interpose/summary.hpp"

namespace strake::interpose {
namespace {

int started(int code) noexcept {
  if (code != MPI_SUCCESS) return code;
  int level = MPI_THREAD_SINGLE;
  mpi::real_mpi().MPI_Query_thread(&level);
  g_multiple = level == MPI_THREAD_MULTIPLE;
  int rank = 0;
  mpi::real_mpi().MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) settings::report_complaints();
  return code;
}

}  // namespace
}  // namespace strake::interpose

using namespace strake::interpose;

STRAKE_MPI int MPI_Init(int* argc, char*** argv) { return started(next().MPI_Init(argc, argv)); }

STRAKE_MPI int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return started(next().MPI_Init_thread(argc, argv, required, provided));
}

STRAKE_MPI int MPI_Finalize() {
  strake::exchange::Engine::get().shut_down();
  summarise();
  return next().MPI_Finalize();
}
