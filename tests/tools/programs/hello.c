/* Each rank prints a line; `hello N` ends with status N. `hello abort N` calls MPI_Abort on rank 1,
   `hello kill N` raises the signal N there, and `hello one N` ends that rank alone with status N,
   after MPI_Finalize. `hello wait FILE` makes the file once all ranks are there, and then sleeps.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("hello %d of %d\n", rank, size);
  fflush(stdout);
  const char* how = argc > 2 ? argv[1] : "";
  const int status = argc > 1 ? atoi(argv[argc - 1]) : 0;
  if (rank == 1 && strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, status);
  if (rank == 1 && strcmp(how, "kill") == 0) raise(status);
  if (strcmp(how, "wait") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) fclose(fopen(argv[2], "w"));
    sleep(600);
  }
  MPI_Finalize();
  return strcmp(how, "one") == 0 && rank != 1 ? 0 : status;
}
