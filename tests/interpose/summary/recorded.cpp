/// \file  Messages of all kinds from each rank to known ranks, for the recorded graph of bytes:
/// rank r sends to r + 1 (the ring) and, in collectives, to its neighbours.
#include <vector>

#include "check.hpp"

int main(int argc, char** argv) {
  check::init(argc, argv);
  const int next = check::next();
  const int previous = check::previous();
  std::vector<char> out(4096), in(4096);
  MPI_Request requests[2];
  // 100 bytes by MPI_Isend, 3 x 8 by a strided type and MPI_Sendrecv.
  CHECK_MPI(MPI_Irecv(in.data(), 100, MPI_CHAR, previous, 1, MPI_COMM_WORLD, &requests[0]));
  CHECK_MPI(MPI_Isend(out.data(), 100, MPI_CHAR, next, 1, MPI_COMM_WORLD, &requests[1]));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  MPI_Datatype column = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_vector(3, 1, 4, MPI_DOUBLE, &column));
  CHECK_MPI(MPI_Type_commit(&column));
  CHECK_MPI(MPI_Sendrecv(out.data(), 1, column, next, 2, in.data(), 1, column, previous, 2,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  // A persistent send, started five times: 5 x 10 bytes.
  CHECK_MPI(MPI_Recv_init(in.data(), 10, MPI_CHAR, previous, 3, MPI_COMM_WORLD, &requests[0]));
  CHECK_MPI(MPI_Send_init(out.data(), 10, MPI_CHAR, next, 3, MPI_COMM_WORLD, &requests[1]));
  for (int turn = 0; turn < 5; ++turn) {
    if (turn % 2 == 0) {
      CHECK_MPI(MPI_Startall(2, requests));
    } else {
      CHECK_MPI(MPI_Start(&requests[0]));
      CHECK_MPI(MPI_Start(&requests[1]));
    }
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  }
  for (MPI_Request& request : requests) CHECK_MPI(MPI_Request_free(&request));
  // On a communicator whose ranks run the other way: rank r sends 7 bytes to r + 1.
  MPI_Comm reversed = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, check::size() - check::rank(), &reversed));
  const int other = check::size() - 1 - next;
  const int from = check::size() - 1 - previous;
  CHECK_MPI(MPI_Sendrecv(out.data(), 7, MPI_CHAR, other, 4, in.data(), 7, MPI_CHAR, from, 4,
                         reversed, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Comm_free(&reversed));
  // To the neighbours in a ring: 4 x 4 bytes to the next one, none to the other.
  MPI_Comm ring = MPI_COMM_NULL;
  CHECK_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, MPI_UNWEIGHTED, 1, &next,
                                           MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring));
  CHECK_MPI(MPI_Neighbor_alltoall(out.data(), 4, MPI_INT, in.data(), 4, MPI_INT, ring));
  CHECK_MPI(MPI_Comm_free(&ring));
  // To all: 2 bytes each; in place, and to nobody, nothing is recorded.
  CHECK_MPI(MPI_Alltoall(out.data(), 2, MPI_CHAR, in.data(), 2, MPI_CHAR, MPI_COMM_WORLD));
  CHECK_MPI(
      MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in.data(), 2, MPI_CHAR, MPI_COMM_WORLD));
  CHECK_MPI(MPI_Send(out.data(), 9, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  CHECK_MPI(MPI_Type_free(&column));
  return check::finish();
}
