// Heat on a square plate with a strake::Grid, which divides the plate, stores the cells, and plans
// the exchange of its ghost cells once. Its answer has the same bits as halo2d.c's.
//   halo2d_core [CELLS [STEPS]]
#include <mpi.h>

#include <bit>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "strake/grid.hpp"

namespace {

void run(int n, int steps) {
  strake::Radius radius;  // of a five-point stencil
  for (const int side : {-1, 1}) radius.set({side, 0, 0}, 1).set({0, side, 0}, 1);
  strake::Grid grid(MPI_COMM_WORLD, {n, n, 1}, {.radius = radius});
  auto heat = grid.add<double>("heat");

  // Indices are those of the whole plate. Ghost cells beyond its edge stay 0.
  for_each_cell(grid.owned(), [&](auto i, auto j, auto k) {
    heat.view()(i, j, k) = static_cast<double>((7 * (j + 1) + 13 * (i + 1)) % 100);
  });

  const double start = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    grid.exchange().wait();
    const auto now = heat.view();
    const auto next = heat.next();
    for_each_cell(grid.owned(), [&](auto i, auto j, auto k) {
      next(i, j, k) =
          0.25 * (now(i, j - 1, k) + now(i - 1, j, k) + now(i + 1, j, k) + now(i, j + 1, k));
    });
    grid.swap();
  }
  const double seconds = MPI_Wtime() - start;

  std::uint64_t sum = 0;  // of all cells' bits, so that it is the same for every number of ranks
  for_each_cell(grid.owned(), [&](auto i, auto j, auto k) {
    sum += std::bit_cast<std::uint64_t>(heat.view()(i, j, k));
  });
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    std::printf("%.1f us per step, checksum %016" PRIX64 "\n", 1e6 * seconds / steps, sum);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  run(argc > 1 ? std::atoi(argv[1]) : 1024, argc > 2 ? std::atoi(argv[2]) : 100);
  MPI_Finalize();
}
