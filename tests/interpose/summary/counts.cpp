/// \file  Messages whose numbers and bytes are known, into receives with room for more: what the
/// summary must say of them (check_counts.py).
#include <mpi.h>

#include <vector>

// A function's large-count form, where there is one.
#if MPI_VERSION >= 4
#define LARGE(name) name##_c
#else
#define LARGE(name) name
#endif

namespace {

/// 5 calls: blocking, nonblocking and, of MPI 4, persistent.
void collectives(double* data, MPI_Datatype type) {
  MPI_Request request = MPI_REQUEST_NULL;
  LARGE(MPI_Bcast)(data, 1, type, 0, MPI_COMM_WORLD);
  MPI_Ibcast(data, 1, type, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  LARGE(MPI_Ibcast)(data, 1, type, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Iallreduce(MPI_IN_PLACE, data, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
  MPI_Bcast_init(data, 1, type, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int i = 0; i < 2; ++i) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
#else
  MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD);
#endif
}

/// 9 calls, to nobody: MPICH 4.0 over UCX, as Debian ships it, misplaces data in windows on some
/// machines.
void one_sided() {
  constexpr int peer = MPI_PROC_NULL;
  int memory[4] = {0, 0, 0, 0}, value = 1, got = 0;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_lock_all(0, window);
  MPI_Put(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, window);
  LARGE(MPI_Put)(&value, 1, MPI_INT, peer, 1, 1, MPI_INT, window);
  MPI_Get(&got, 1, MPI_INT, peer, 0, 1, MPI_INT, window);
  MPI_Accumulate(&value, 1, MPI_INT, peer, 2, 1, MPI_INT, MPI_SUM, window);
  MPI_Get_accumulate(&value, 1, MPI_INT, &got, 1, MPI_INT, peer, 2, 1, MPI_INT, MPI_SUM, window);
  MPI_Fetch_and_op(&value, &got, MPI_INT, peer, 3, MPI_SUM, window);
  MPI_Compare_and_swap(&value, &value, &got, MPI_INT, peer, 3, window);
  MPI_Rput(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Rget(&got, 1, MPI_INT, peer, 1, 1, MPI_INT, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

/// Calls by an error handler don't count as the application's: Strake has the thread then.
void nested(MPI_Comm* /*comm*/, int* /*code*/, ...) {
  int value = 0;
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_SELF);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  constexpr int kBlocks = 100;
  constexpr int kRoom = 5;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(kBlocks, 1, 2, MPI_DOUBLE, &type);  // 800 bytes
  MPI_Type_commit(&type);
  std::vector<double> out(2 * kBlocks * kRoom, rank), in(out.size(), -1);
  const int peer = 1 - rank;
  // Before the persistent messages: see the limits in docs/reference/interposer.md.
  collectives(out.data(), type);
  one_sided();
  for (int i = 0; i < 2; ++i) {
    if (rank == 0) MPI_Send(out.data(), 1, type, peer, 1, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(in.data(), kRoom, type, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Request requests[2];
  MPI_Irecv(in.data(), kRoom, type, peer, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out.data(), 1, type, peer, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) MPI_Send_init(out.data(), 1, type, peer, 3, MPI_COMM_WORLD, &requests[0]);
  if (rank == 1) MPI_Recv_init(in.data(), kRoom, type, peer, 3, MPI_COMM_WORLD, &requests[0]);
  for (int i = 0; i < 3; ++i) {
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Sendrecv(out.data(), 1, type, peer, 4, in.data(), kRoom, type, peer, 4, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(out.data(), 1, type, MPI_PROC_NULL, 4, in.data(), 1, type, MPI_PROC_NULL, 4,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
  MPI_Isendrecv(out.data(), 1, MPI_DOUBLE, peer, 6, in.data(), 1, MPI_DOUBLE, peer, 6,
                MPI_COMM_WORLD, &requests[0]);
  MPI_Isendrecv_replace_c(out.data(), 1, MPI_DOUBLE, peer, 6, peer, 6, MPI_COMM_WORLD,
                          &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
#endif
  for (int i = 0; i < 3; ++i) MPI_Bcast(out.data(), 1, type, 0, MPI_COMM_WORLD);
  MPI_Aint position = 0;
  MPI_Pack_external("external32", out.data(), 1, type, in.data(), 4000, &position);
  position = 0;
  MPI_Unpack_external("external32", in.data(), 4000, &position, out.data(), 1, type);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(nested, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Send(out.data(), 1, type, 2, 5, comm);  // there is no such rank
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  MPI_Type_free(&type);
  MPI_Finalize();
  return 0;
}
