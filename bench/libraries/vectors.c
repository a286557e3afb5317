// Vectors of 2 MiB between pairs of ranks, plain MPI in C: blocks of 128 bytes to 8 KiB at twice
// their length, from memory of malloc. Prints, for each block length, the median microseconds of
// both ranks sending at a time (Irecv, Isend, Waitall), and of half a round trip of blocking
// messages, on the slowest rank.
//
//   vectors [EXCHANGES]   of each kind that are timed (300)
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBytes = 2 << 20, kMostWarmUps = 200 };

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static void exchange(char* out, char* in, MPI_Datatype type, int peer) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(in, 1, type, peer, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, 1, type, peer, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, statuses);
}

static void round_trip(char* out, char* in, MPI_Datatype type, int rank, int peer) {
  MPI_Status status;
  if (rank < peer) MPI_Send(out, 1, type, peer, 0, MPI_COMM_WORLD);
  MPI_Recv(in, 1, type, peer, 0, MPI_COMM_WORLD, &status);
  if (rank > peer) MPI_Send(out, 1, type, peer, 0, MPI_COMM_WORLD);
}

// The median [us] on the slowest rank; negative: wrong bytes have come.
static double time_of(long block, int blocking, int exchanges, int rank, int peer) {
  char* out = malloc(2 * kBytes);
  char* in = calloc(2, kBytes);
  double* samples = malloc(sizeof(double) * (size_t)exchanges);
  memset(out, rank + 1, 2 * kBytes);
  MPI_Datatype type;
  MPI_Type_vector((int)(kBytes / block), (int)block, (int)(2 * block), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  const int warm_ups = exchanges < kMostWarmUps ? exchanges : kMostWarmUps;
  for (int i = -warm_ups; i < exchanges; ++i) {
    if (i % 20 == 0) MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (blocking) {
      round_trip(out, in, type, rank, peer);
    } else {
      exchange(out, in, type, peer);
    }
    if (i >= 0) samples[i] = (MPI_Wtime() - begin) * (blocking ? 0.5e6 : 1e6);
  }
  int wrong = 0;
  for (long at = 0; at < 2 * kBytes; ++at) wrong |= in[at] != (at / block % 2 == 0 ? peer + 1 : 0);
  qsort(samples, (size_t)exchanges, sizeof(double), compare);
  double mine = wrong ? 1e30 : samples[exchanges / 2], slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Type_free(&type);
  free(out);
  free(in);
  free(samples);
  return slowest < 1e30 ? slowest : -1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int exchanges = argc > 1 ? atoi(argv[1]) : 300;
  int right = ranks % 2 == 0 && exchanges > 0;
  if (!right && rank == 0) fprintf(stderr, "vectors: an even number of ranks, and exchanges\n");
  for (long block = 128; right && block <= 8192; block *= 4) {
    const double both = time_of(block, 0, exchanges, rank, rank ^ 1);
    const double half = time_of(block, 1, exchanges, rank, rank ^ 1);
    if (rank == 0) printf("%ld B: %.0f us both at a time, %.0f us one way\n", block, both, half);
    right = both >= 0 && half >= 0;
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
