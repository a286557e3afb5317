/* Heat on a square plate, in strips of columns: each step sends a column of 8-byte cells to the
   left and one to the right. Plain MPI; `strake run -- mpirun -n 4 ./halo2d` packs the columns.
   halo2d [CELLS [STEPS]] */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int n = argc > 1 ? atoi(argv[1]) : 1024, steps = argc > 2 ? atoi(argv[2]) : 100;
  if (n < ranks || steps < 1) MPI_Abort(MPI_COMM_WORLD, 2);

  /* This rank has the columns from `first` to `last`, and one more on each side: the neighbour's,
   * or the cold edge. */
  const int first = (int)((long)n * rank / ranks), last = (int)((long)n * (rank + 1) / ranks);
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL,
            right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  const int columns = last - first, row = columns + 2;
  double* now = calloc((size_t)(n + 2) * row, sizeof(double));
  double* next = calloc((size_t)(n + 2) * row, sizeof(double));
  if (now == NULL || next == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int j = 1; j <= n; ++j)
    for (int i = 1; i <= columns; ++i) now[(size_t)j * row + i] = (7 * j + 13 * (first + i)) % 100;

  MPI_Datatype column; /* n cells of one double each, a row apart */
  MPI_Type_vector(n, 1, row, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);

  const double start = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    MPI_Request requests[4];
    double* cells = now + row; /* the first row below the edge */
    MPI_Irecv(cells, 1, column, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(cells + columns + 1, 1, column, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(cells + 1, 1, column, left, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(cells + columns, 1, column, right, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int j = 1; j <= n; ++j)
      for (size_t at = (size_t)j * row + 1; at <= (size_t)j * row + columns; ++at)
        next[at] = 0.25 * (now[at - row] + now[at - 1] + now[at + 1] + now[at + row]);
    double* swap = now;
    now = next;
    next = swap;
  }
  const double seconds = MPI_Wtime() - start;

  uint64_t sum = 0, bits; /* of all cells' bits, so that it is the same for every number of ranks */
  for (int j = 1; j <= n; ++j)
    for (int i = 1; i <= columns; ++i, sum += bits)
      memcpy(&bits, &now[(size_t)j * row + i], sizeof(bits));
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%.1f us per step, checksum %016" PRIX64 "\n", 1e6 * seconds / steps, sum);
  MPI_Type_free(&column);
  MPI_Finalize();
}
