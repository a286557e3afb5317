/// \file  A program whose receives are calls of PMPI_Recv, as those of a profiler in the program
/// are. They don't reach Strake, so nothing may come to them that only Strake can read.
#include "check.hpp"

int main(int argc, char** argv) {
  check::init(argc, argv);
  check::section("receives by PMPI_Recv");
  constexpr int kRows = 2000;
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(kRows, 1, 3, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  const int other = 1 - check::rank();
  for (int turn = 0; turn < 40; ++turn) {
    std::vector<double> rows(std::size_t{3} * kRows, -1);
    if (check::rank() == turn % 2) {
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<double>(i) + turn;
      MPI_Send(rows.data(), 1, column, other, turn, MPI_COMM_WORLD);
      continue;
    }
    PMPI_Recv(rows.data(), 1, column, other, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (std::size_t i = 0; i < rows.size(); ++i)
      CHECK_EQ(rows[i], i % 3 == 0 ? static_cast<double>(i) + turn : -1);
  }
  MPI_Type_free(&column);
  return check::finish();
}
