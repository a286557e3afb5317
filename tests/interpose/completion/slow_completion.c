/* Preloaded behind the interposer: between the MPI library's completion of a request and the
   interposer's look at what was completed, another thread gets the time to make a request with the
   same handle. */
#include <mpi.h>
#include <time.h>

static int later(int code) {
  const struct timespec pause = {0, 200000};
  nanosleep(&pause, 0);
  return code;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) { return later(PMPI_Wait(request, status)); }

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  return later(PMPI_Waitall(count, requests, statuses));
}

int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  const int code = PMPI_Testany(count, requests, index, flag, status);
  return *flag ? later(code) : code;
}
