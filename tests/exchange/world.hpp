/// \file  This rank, how many there are in MPI_COMM_WORLD, and which are on one node.
#pragma once

#include <mpi.h>

#include <cstdlib>
#include <string>

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
/// The rank that does wrong in tests of faults: the last one.
inline int culprit() { return ranks() - 1; }
/// Pretended nodes have so many, or real ones (tests/support/nodes.sh); else all are on one.
inline int ranks_per_node() {
  for (const char* name : {"STRAKE_RANKS_PER_NODE", "TEST_RANKS_PER_NODE"})
    if (const char* const number = std::getenv(name)) return std::atoi(number);
  return ranks();
}
inline bool on_one_node(int a, int b) { return a / ranks_per_node() == b / ranks_per_node(); }

/// By STRAKE_METHOD.
inline bool is_forced(const std::string& transport) {
  const char* const forced = std::getenv("STRAKE_METHOD");
  return forced != nullptr && forced == transport;
}

}  // namespace strake
