// Heat on a square plate in GPU memory, in strips of columns: halo2d.c with its cells on a GPU. MPI
// is given addresses of GPU memory, which needs an MPI library that is GPU-aware, or `strake run`.
// halo2d_cuda [CELLS [STEPS]]
#include <cuda_runtime.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

static void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  MPI_Abort(MPI_COMM_WORLD, 3);
}

__global__ void step_once(double* next, const double* now, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x + 1, row = columns + 2;
  const size_t at = (size_t)(blockIdx.y + 1) * row + i;
  if (i <= columns) next[at] = 0.25 * (now[at - row] + now[at - 1] + now[at + 1] + now[at + row]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, devices = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int n = argc > 1 ? std::atoi(argv[1]) : 1024, steps = argc > 2 ? std::atoi(argv[2]) : 100;
  if (n < ranks || steps < 1) MPI_Abort(MPI_COMM_WORLD, 2);
  check(cudaGetDeviceCount(&devices));
  check(cudaSetDevice(rank % devices));

  const int first = (int)((long)n * rank / ranks),
            columns = (int)((long)n * (rank + 1) / ranks) - first, row = columns + 2;
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL,
            right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  std::vector<double> plate((size_t)(n + 2) * row);
  for (int j = 1; j <= n; ++j)
    for (int i = 1; i <= columns; ++i)
      plate[(size_t)j * row + i] = (7 * j + 13 * (first + i)) % 100;
  double* buffers[2];  // now, and next
  for (double*& buffer : buffers) {
    check(cudaMalloc(&buffer, plate.size() * sizeof(double)));
    check(cudaMemcpy(buffer, plate.data(), plate.size() * sizeof(double), cudaMemcpyDefault));
  }

  MPI_Datatype column;
  MPI_Type_vector(n, 1, row, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  const double start = MPI_Wtime();
  for (int step = 0; step < steps; ++step, std::swap(buffers[0], buffers[1])) {
    MPI_Request requests[4];
    double* cells = buffers[0] + row;
    MPI_Irecv(cells, 1, column, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(cells + columns + 1, 1, column, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(cells + 1, 1, column, left, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(cells + columns, 1, column, right, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    step_once<<<dim3((columns + 127) / 128, n), 128>>>(buffers[1], buffers[0], columns);
    check(cudaDeviceSynchronize());  // MPI knows nothing of streams
  }
  const double seconds = MPI_Wtime() - start;

  check(cudaMemcpy(plate.data(), buffers[0], plate.size() * sizeof(double), cudaMemcpyDefault));
  unsigned long long sum = 0, bits;
  for (int j = 1; j <= n; ++j)
    for (int i = 1; i <= columns; ++i, sum += bits)
      std::memcpy(&bits, &plate[(size_t)j * row + i], sizeof(bits));
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%.1f us per step, checksum %016llX\n", 1e6 * seconds / steps, sum);
  MPI_Finalize();
}
