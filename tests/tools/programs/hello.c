/* Each rank prints a line; `hello N` ends with status N. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("hello %d of %d\n", rank, size);
  fflush(stdout);
  MPI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}
