/// \file  This rank, and how many there are, in MPI_COMM_WORLD.
#pragma once

#include <mpi.h>

namespace strake {

inline int rank() {
  int number = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  return number;
}
inline int ranks() {
  int number = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &number);
  return number;
}

}  // namespace strake
