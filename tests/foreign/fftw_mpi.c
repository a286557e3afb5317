// Transforms of slabs and transposes, as programs of FFTW's MPI library make them, by
// MPI_Alltoall(v) or MPI_Sendrecv. Writes all bytes that a rank has in the end, and a hash of them
// after each turn, to PREFIX.RANK. FFTW_ESTIMATE: measurements would take other algorithms from run
// to run, which round otherwise.
#include <fftw3-mpi.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;
static FILE* file;

static void fill(double* values, ptrdiff_t count, int turn) {
  for (ptrdiff_t i = 0; i < count; ++i)
    values[i] = sin(1e-3 * (double)(i % 100003) + rank + 0.1 * turn);
}
static void write_hash(const double* values, ptrdiff_t count) {
  const unsigned char* bytes = (const unsigned char*)values;
  unsigned long long hash = 14695981039346656037ULL;
  for (size_t i = 0; i < (size_t)count * sizeof(double); ++i)
    hash = (hash ^ bytes[i]) * 1099511628211ULL;
  fprintf(file, "%016llx\n", hash);
}
static void run(const char* name, fftw_plan plan, double* in, double* out, ptrdiff_t count,
                int turns) {
  if (plan == NULL) {
    fprintf(stderr, "no plan for %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  for (int turn = 0; turn < turns; ++turn) {
    fill(in, count, turn);
    fftw_execute(plan);
    write_hash(out, count);
  }
  fwrite(out, sizeof(double), (size_t)count, file);
  fftw_destroy_plan(plan);
}

static void complex_3d(ptrdiff_t n0, ptrdiff_t n1, ptrdiff_t n2, unsigned flags, int in_place,
                       int turns) {
  ptrdiff_t mine, first, mine_after, first_after;
  const ptrdiff_t count = fftw_mpi_local_size_3d_transposed(n0, n1, n2, MPI_COMM_WORLD, &mine,
                                                            &first, &mine_after, &first_after);
  fftw_complex* in = fftw_alloc_complex((size_t)count);
  fftw_complex* out = in_place ? in : fftw_alloc_complex((size_t)count);
  fill((double*)out, 2 * count, 0);
  const fftw_plan plan = fftw_mpi_plan_dft_3d(n0, n1, n2, in, out, MPI_COMM_WORLD, FFTW_FORWARD,
                                              FFTW_ESTIMATE | flags);
  run("complex_3d", plan, (double*)in, (double*)out, 2 * count, turns);
  if (!in_place) fftw_free(out);
  fftw_free(in);
}
static void real_3d(ptrdiff_t n0, ptrdiff_t n1, ptrdiff_t n2, unsigned flags, int turns) {
  ptrdiff_t mine, first;
  const ptrdiff_t count = fftw_mpi_local_size_3d(n0, n1, n2 / 2 + 1, MPI_COMM_WORLD, &mine, &first);
  double* in = fftw_alloc_real(2 * (size_t)count);
  fftw_complex* out = fftw_alloc_complex((size_t)count);
  fill((double*)out, 2 * count, 0);
  const fftw_plan plan =
      fftw_mpi_plan_dft_r2c_3d(n0, n1, n2, in, out, MPI_COMM_WORLD, FFTW_ESTIMATE | flags);
  run("real_3d", plan, in, (double*)out, 2 * count, turns);
  fftw_free(out);
  fftw_free(in);
}
static void transpose(ptrdiff_t n0, ptrdiff_t n1, ptrdiff_t many, ptrdiff_t block0,
                      ptrdiff_t block1, unsigned flags, int in_place, int turns) {
  ptrdiff_t mine, first, mine_after, first_after;
  const ptrdiff_t sizes[2] = {n0, n1};
  const ptrdiff_t count = fftw_mpi_local_size_many_transposed(
      2, sizes, many, block0, block1, MPI_COMM_WORLD, &mine, &first, &mine_after, &first_after);
  double* in = fftw_alloc_real((size_t)count);
  double* out = in_place ? in : fftw_alloc_real((size_t)count);
  fill(out, count, 0);
  const fftw_plan plan =
      many == 1 && block0 == 0 && block1 == 0
          ? fftw_mpi_plan_transpose(n0, n1, in, out, MPI_COMM_WORLD, FFTW_ESTIMATE | flags)
          : fftw_mpi_plan_many_transpose(n0, n1, many, block0, block1, in, out, MPI_COMM_WORLD,
                                         FFTW_ESTIMATE | flags);
  run("transpose", plan, in, out, count, turns);
  if (!in_place) fftw_free(out);
  fftw_free(in);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  fftw_mpi_init();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[4096];
  if (argc != 2 || snprintf(name, sizeof name, "%s.%d", argv[1], rank) >= (int)sizeof name ||
      (file = fopen(name, "wb")) == NULL) {
    fprintf(stderr, "usage: fftw_mpi PREFIX\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  // FFTW exchanges by MPI_Alltoall(v) if it may destroy what it reads, else by MPI_Sendrecv.
  for (int may_destroy = 0; may_destroy < 2; ++may_destroy) {
    const unsigned flags = may_destroy ? FFTW_DESTROY_INPUT : 0;
    complex_3d(16, 16, 16, flags, 0, 50);
    complex_3d(13, 15, 7, flags | FFTW_MPI_TRANSPOSED_OUT, 0, 50);
    complex_3d(64, 64, 64, flags, 0, 6);
    real_3d(24, 20, 18, flags, 50);
    real_3d(9, 14, 10, flags, 50);
    transpose(64, 64, 1, 0, 0, flags, 0, 50);
    transpose(61, 43, 1, 0, 0, flags, 0, 50);
    transpose(512, 384, 1, 0, 0, flags, 0, 12);
    transpose(24, 36, 5, FFTW_MPI_DEFAULT_BLOCK, FFTW_MPI_DEFAULT_BLOCK, flags, 0, 50);
    // In blocks of which the last ones are short.
    transpose(25, 37, 3, 25 / size + 2, 37 / size + 3, flags, 0, 50);
  }
  complex_3d(32, 24, 20, 0, 1, 50);
  transpose(61, 43, 1, 0, 0, 0, 1, 50);
  transpose(25, 37, 3, 25 / size + 2, 37 / size + 3, 0, 1, 50);
  fclose(file);
  fftw_mpi_cleanup();
  MPI_Finalize();
  return 0;
}
