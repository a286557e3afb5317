// Messages of a derived type and a planned exchange, again and again for so many seconds. Every
// byte is checked.
//   rounds SECONDS
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "strake/exchange.hpp"

namespace {

constexpr int kBlocks = 2048;
constexpr int kBlock = 4;
constexpr int kStride = 8;
constexpr std::int64_t kBytes = 20'000;

std::byte value_of(int rank, long round, std::size_t at) {
  return static_cast<std::byte>(rank * 131 + round * 7 + static_cast<long>(at) * 13);
}

/// Sends strided bytes around a ring. \returns how many have come wrong
long send_messages(MPI_Datatype type, int rank, int ranks, long round) {
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  std::vector<std::byte> out(kBlocks * kStride), in(out.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = value_of(rank, round, i);
  std::array<MPI_Request, 2> requests{};
  MPI_Irecv(in.data(), 1, type, previous, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out.data(), 1, type, next, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  long wrong = 0;
  for (std::size_t i = 0; i < in.size(); ++i)
    wrong += in[i] != (i % kStride < kBlock ? value_of(previous, round, i) : std::byte{});
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(kBlocks, kBlock, kStride, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  long wrong = 0;
  long rounds = 0;
  {
    const int next = (rank + 1) % ranks;
    const int previous = (rank + ranks - 1) % ranks;
    strake::ExchangePart part;
    const int array = part.array({}, 2 * kBytes);
    part.send(next, 1, array, strake::Layout::dense(kBytes));
    part.receive(previous, 1, array, strake::Layout::dense(kBytes, kBytes));
    strake::Exchange exchange(MPI_COMM_WORLD, part);
    std::vector<std::byte> bytes(2 * kBytes);
    std::array<std::byte*, 1> arrays = {bytes.data()};
    const double begin = MPI_Wtime();
    for (int goes_on = 1; goes_on != 0; ++rounds) {
      wrong += send_messages(type, rank, ranks, rounds);
      for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = value_of(rank, rounds, i);
      exchange.start(arrays);
      exchange.wait();
      for (std::size_t i = 0; i < kBytes; ++i)
        wrong += bytes[kBytes + i] != value_of(previous, rounds, i);
      goes_on = MPI_Wtime() - begin < seconds ? 1 : 0;
      MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
  }
  long all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%ld rounds, %ld wrong bytes\n", rounds, all);
  MPI_Type_free(&type);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
