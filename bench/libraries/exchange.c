// Plain MPI in C, so that one binary runs with each library of an MPI interface: a halo sent as
// MPI datatypes, or packed by hand. Prints "microseconds library".
//
//   exchange columns N SECONDS type|hand
//     Two columns of N doubles each way, of a matrix with N + 2 columns, to the ranks before and
//     after this one.
//   exchange halo N SECONDS type|hand
//     Faces, edges and corners of N^3 doubles, periodic, to all 26 neighbours.
//
// Each rank binds itself to a core before MPI starts, so that all libraries run on the same cores:
// EXCHANGE_RANKS says how many ranks there are. All ghost cells are checked before and after the
// timing. The result is the slowest rank's median over batches of 20 exchanges, without the first
// quarter of SECONDS.
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBatch = 20, kMostBatches = 200000, kMostRegions = 26 };

// A box of the array, and the message that carries it.
typedef struct {
  int begin[3], count[3];
  int rank, tag;
  MPI_Datatype type;
  double* dense;
} Region;

static int g_extent[3];  // of the array, with ghost cells
static double* g_cells;
static Region g_sends[kMostRegions], g_receives[kMostRegions];
static int g_regions;

static int is_first_thread_of_core(int cpu) {
  char name[96];
  snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  FILE* file = fopen(name, "r");
  int first = cpu;
  if (file != NULL) {
    if (fscanf(file, "%d", &first) != 1) first = cpu;
    fclose(file);
  }
  return first == cpu;
}

static void bind_to_core(int ranks_wanted) {
  const char* text = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  if (text == NULL) text = getenv("PMI_RANK");
  if (text == NULL) return;
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int cpus[CPU_SETSIZE], count = 0;
  // The first hardware thread of each core, then the others.
  for (int threads = 0; threads < 2; ++threads)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &allowed) && is_first_thread_of_core(cpu) == !threads) cpus[count++] = cpu;
  if (count < ranks_wanted) return;
  CPU_ZERO(&one);
  CPU_SET(cpus[atoi(text) % count], &one);
  sched_setaffinity(0, sizeof one, &one);
}

static double* cell(int z, int y, int x) {
  return g_cells + ((size_t)z * g_extent[1] + y) * g_extent[2] + x;
}

static void add_region(const int send_begin[3], const int receive_begin[3], const int count[3],
                       int to, int tag, int from, int from_tag) {
  Region* both[2] = {&g_sends[g_regions], &g_receives[g_regions]};
  for (int i = 0; i < 2; ++i) {
    memcpy(both[i]->begin, i == 0 ? send_begin : receive_begin, sizeof both[i]->begin);
    memcpy(both[i]->count, count, sizeof both[i]->count);
    both[i]->rank = i == 0 ? to : from;
    both[i]->tag = i == 0 ? tag : from_tag;
    both[i]->dense = malloc(sizeof(double) * count[0] * count[1] * count[2]);
    MPI_Type_create_subarray(3, g_extent, both[i]->count, both[i]->begin, MPI_ORDER_C, MPI_DOUBLE,
                             &both[i]->type);
    MPI_Type_commit(&both[i]->type);
  }
  ++g_regions;
}

static void plan_columns(int n, int rank, int ranks) {
  const int extent[3] = {1, n, n + 2}, count[3] = {1, n, 1};
  memcpy(g_extent, extent, sizeof extent);
  const int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
  add_region((int[3]){0, 0, 1}, (int[3]){0, 0, 0}, count, before, 1, before, 0);
  add_region((int[3]){0, 0, n}, (int[3]){0, 0, n + 1}, count, after, 0, after, 1);
}

static void plan_halo(int n, int rank, int ranks) {
  int dims[3] = {0, 0, 0}, periods[3] = {1, 1, 1}, at[3];
  MPI_Comm grid;
  MPI_Dims_create(ranks, 3, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &grid);
  MPI_Cart_coords(grid, rank, 3, at);
  for (int axis = 0; axis < 3; ++axis) g_extent[axis] = n + 2;
  for (int d = 0; d < 27; ++d) {
    const int way[3] = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1};
    int send_begin[3], receive_begin[3], count[3], there[3], peer;
    if (d == 13) continue;
    for (int axis = 0; axis < 3; ++axis) {
      count[axis] = way[axis] == 0 ? n : 1;
      send_begin[axis] = way[axis] > 0 ? n : 1;
      receive_begin[axis] = way[axis] < 0 ? 0 : way[axis] > 0 ? n + 1 : 1;
      there[axis] = at[axis] + way[axis];
    }
    MPI_Cart_rank(grid, there, &peer);
    add_region(send_begin, receive_begin, count, peer, d, peer, 26 - d);
  }
}

// Packs or unpacks a region row by row.
static void copy_rows(const Region* region, int pack) {
  double* dense = region->dense;
  const int* b = region->begin;
  const int* n = region->count;
  for (int z = 0; z < n[0]; ++z) {
    if (n[2] == 1) {
      double* there = cell(b[0] + z, b[1], b[2]);
      const size_t pitch = g_extent[2];
      if (pack)
        for (int y = 0; y < n[1]; ++y) dense[y] = there[y * pitch];
      else
        for (int y = 0; y < n[1]; ++y) there[y * pitch] = dense[y];
      dense += n[1];
    } else {
      for (int y = 0; y < n[1]; ++y, dense += n[2]) {
        double* row = cell(b[0] + z, b[1] + y, b[2]);
        memcpy(pack ? dense : row, pack ? row : dense, sizeof(double) * n[2]);
      }
    }
  }
}

static int cells_of(const Region* region) {
  return region->count[0] * region->count[1] * region->count[2];
}

static void exchange_types(void) {
  MPI_Request requests[2 * kMostRegions];
  for (int i = 0; i < g_regions; ++i)
    MPI_Irecv(g_cells, 1, g_receives[i].type, g_receives[i].rank, g_receives[i].tag, MPI_COMM_WORLD,
              &requests[i]);
  for (int i = 0; i < g_regions; ++i)
    MPI_Isend(g_cells, 1, g_sends[i].type, g_sends[i].rank, g_sends[i].tag, MPI_COMM_WORLD,
              &requests[g_regions + i]);
  MPI_Waitall(2 * g_regions, requests, MPI_STATUSES_IGNORE);
}

static void exchange_by_hand(void) {
  MPI_Request requests[2 * kMostRegions];
  for (int i = 0; i < g_regions; ++i)
    MPI_Irecv(g_receives[i].dense, cells_of(&g_receives[i]), MPI_DOUBLE, g_receives[i].rank,
              g_receives[i].tag, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < g_regions; ++i) {
    copy_rows(&g_sends[i], 1);
    MPI_Isend(g_sends[i].dense, cells_of(&g_sends[i]), MPI_DOUBLE, g_sends[i].rank, g_sends[i].tag,
              MPI_COMM_WORLD, &requests[g_regions + i]);
  }
  MPI_Waitall(2 * g_regions, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < g_regions; ++i) copy_rows(&g_receives[i], 0);
}

// The value of a sent cell: no other cell of any rank, message or epoch has it.
static double value_of(int sender, int tag, long place, int epoch) {
  return (double)(((long)epoch * 64 + sender) * 32 + tag) * 1e6 + (double)place;
}

// Counts the wrong ghost cells of all ranks. Cells of several messages overlap, so each message is
// checked by an exchange of its own.
static long wrong_cells(void (*exchange)(void), int rank, int epoch) {
  long wrong = 0, all = 0;
  const size_t cells = (size_t)g_extent[0] * g_extent[1] * g_extent[2];
  for (int message = 0; message < g_regions; ++message) {
    const Region* sent = &g_sends[message];
    memset(g_cells, 0xff, cells * sizeof(double));
    long place = 0;
    for (int z = 0; z < sent->count[0]; ++z)
      for (int y = 0; y < sent->count[1]; ++y)
        for (int x = 0; x < sent->count[2]; ++x)
          *cell(sent->begin[0] + z, sent->begin[1] + y, sent->begin[2] + x) =
              value_of(rank, sent->tag, place++, epoch);
    exchange();
    for (int i = 0; i < g_regions; ++i) {
      const Region* got = &g_receives[i];
      if (got->tag != sent->tag) continue;
      place = 0;
      for (int z = 0; z < got->count[0]; ++z)
        for (int y = 0; y < got->count[1]; ++y)
          for (int x = 0; x < got->count[2]; ++x)
            wrong += *cell(got->begin[0] + z, got->begin[1] + y, got->begin[2] + x) !=
                     value_of(got->rank, got->tag, place++, epoch);
    }
  }
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static double median_us(void (*exchange)(void), double seconds) {
  double* batches = malloc(sizeof(double) * kMostBatches);
  int count = 0, first = 0, stop = 0;
  const double begin = MPI_Wtime();
  while (!stop) {
    const double start = MPI_Wtime();
    for (int i = 0; i < kBatch; ++i) exchange();
    const double end = MPI_Wtime();
    if (end - begin < seconds / 4) first = count + 1;
    batches[count++] = (end - start) / kBatch;
    stop = end - begin > seconds || count == kMostBatches;
    MPI_Bcast(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (first >= count) first = count / 2;
  qsort(batches + first, count - first, sizeof(double), ascending);
  double mine = batches[first + (count - first) / 2] * 1e6, slowest;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  free(batches);
  return slowest;
}

int main(int argc, char** argv) {
  const int n = argc == 5 ? atoi(argv[2]) : 0;
  const double seconds = argc == 5 ? atof(argv[3]) : 0;
  if (n < 1 || seconds <= 0 || (strcmp(argv[1], "columns") != 0 && strcmp(argv[1], "halo") != 0) ||
      (strcmp(argv[4], "type") != 0 && strcmp(argv[4], "hand") != 0)) {
    fprintf(stderr, "usage: exchange columns|halo N SECONDS type|hand\n");
    return 2;
  }
  const char* wanted = getenv("EXCHANGE_RANKS");
  bind_to_core(wanted != NULL ? atoi(wanted) : 2);
  MPI_Init(&argc, &argv);
  int rank, ranks, length;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(argv[1], "columns") == 0)
    plan_columns(n, rank, ranks);
  else
    plan_halo(n, rank, ranks);
  g_cells = malloc(sizeof(double) * g_extent[0] * g_extent[1] * g_extent[2]);
  void (*exchange)(void) = strcmp(argv[4], "hand") == 0 ? exchange_by_hand : exchange_types;
  long wrong = wrong_cells(exchange, rank, 0);
  memset(g_cells, 0, sizeof(double) * g_extent[0] * g_extent[1] * g_extent[2]);
  const double us = wrong == 0 ? median_us(exchange, seconds) : 0;
  if (wrong == 0) wrong = wrong_cells(exchange, rank, 1);
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Get_library_version(version, &length);
  version[strcspn(version, "\n,")] = '\0';
  if (rank == 0 && wrong == 0) printf("%.3f %s\n", us, version);
  if (rank == 0 && wrong != 0)
    fprintf(stderr, "%s %d %s: %ld wrong ghost cells\n", argv[1], n, argv[4], wrong);
  MPI_Finalize();
  return wrong != 0;
}
