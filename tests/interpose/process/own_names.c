/* A C library that has functions of its own with lower-case names of MPI's, as R's Rmpi does. */
#include <mpi.h>

int mpi_barrier(MPI_Comm* comm, int rounds);
int mpi_barrier(MPI_Comm* comm, int rounds) {
  int code = MPI_SUCCESS;
  for (int i = 0; i < rounds && code == MPI_SUCCESS; ++i) code = MPI_Barrier(*comm);
  return code == MPI_SUCCESS ? rounds : -1;
}

int meet(MPI_Comm comm);
int meet(MPI_Comm comm) { return mpi_barrier(&comm, 3); }
