/// \file  A library of the program may have functions with the names of MPI's in lower case. Its
/// calls still reach them.
#include "check.hpp"

extern "C" int meet(MPI_Comm comm);

int main(int argc, char** argv) {
  check::init(argc, argv);
  check::section("functions named mpi_barrier");
  CHECK_EQ(meet(MPI_COMM_WORLD), 3);
  return check::finish();
}
