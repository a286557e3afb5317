/// \file  Messages whose numbers and bytes are known, into receives with room for more: what the
/// summary must say of them (check_counts.py).
#include <mpi.h>

#include <vector>

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
  for (int i = 0; i < 3; ++i) MPI_Bcast(out.data(), 1, type, 0, MPI_COMM_WORLD);
  MPI_Aint position = 0;
  MPI_Pack_external("external32", out.data(), 1, type, in.data(), 4000, &position);
  MPI_Type_free(&type);
  MPI_Finalize();
  return 0;
}
