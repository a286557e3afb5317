// Exchanges that are alive when their ranks call MPI_Finalize. usage: finalize_test fewer|alike
//   fewer  the last rank calls it after fewer rounds: the others, which wait for it, are told
//   alike  all ranks call it after the same rounds, the first one late: nobody is told anything
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "strake/error.hpp"
#include "strake/exchange.hpp"

int main(int argc, char** argv) {
  const bool fewer = argc > 1 && std::string(argv[1]) == "fewer";
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  strake::ExchangePart part;
  part.array();
  for (int other = 0; other < ranks; ++other) {
    if (other == rank) continue;
    part.send(other, 0, 0, strake::Layout::dense(8));
    part.receive(other, 0, 0, strake::Layout::dense(8, 8 * (other + 1)));
  }
  // Destroyed after MPI_Finalize, when the program ends.
  static strake::Exchange exchange(MPI_COMM_WORLD, part);
  std::vector<std::byte> bytes(static_cast<std::size_t>(8 * (ranks + 1)));
  std::byte* const bases[] = {bytes.data()};
  const int culprit = ranks - 1;
  std::string told;
  try {
    for (int round = 1; round <= 3; ++round) {
      if (fewer && rank == culprit && round == 3) break;
      exchange.start(bases);
      if (!fewer && rank == 0 && round == 3) usleep(300'000);
      exchange.wait();
    }
  } catch (const strake::Error& error) {
    told = error.what();
  }
  MPI_Finalize();
  const std::string wanted = "rank " + std::to_string(culprit) + " has left";
  const bool right =
      fewer && rank != culprit ? told.find(wanted) != std::string::npos : told.empty();
  if (!right) std::fprintf(stderr, "rank %d was told '%s'\n", rank, told.c_str());
  return right ? 0 : 1;
}
