#include "mpi/sparse.hpp"

#include <fmt/format.h>

#include <limits>

#include "mpi/real_mpi.hpp"
#include "strake/error.hpp"

namespace strake::mpi {
namespace {

/// Receives a message if one is there.
void receive_one(MPI_Comm comm, int tag, NumbersByRank& got) {
  const RealMpi& real = real_mpi();
  int is_there = 0;
  MPI_Status status;
  check(real.MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &is_there, &status), "MPI_Iprobe");
  if (is_there == 0) return;
  int count = 0;
  check(real.MPI_Get_count(&status, MPI_INT64_T, &count), "MPI_Get_count");
  std::vector<std::int64_t>& numbers = got[status.MPI_SOURCE];
  numbers.resize(static_cast<std::size_t>(count));
  check(real.MPI_Recv(numbers.data(), count, MPI_INT64_T, status.MPI_SOURCE, tag, comm,
                      MPI_STATUS_IGNORE),
        "MPI_Recv");
}

}  // namespace

NumbersByRank sparse_exchange(MPI_Comm comm, int tag, const NumbersByRank& to) {
  const RealMpi& real = real_mpi();
  for (const auto& [rank, numbers] : to)
    if (numbers.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw InvalidArgument(fmt::format("{} numbers for rank {}", numbers.size(), rank));
  // A synchronous send has ended when it was received. Once all of this rank's have, it enters the
  // barrier, and once all ranks are there, nothing is on its way.
  std::vector<MPI_Request> sends;
  for (const auto& [rank, numbers] : to)
    check(real.MPI_Issend(numbers.data(), static_cast<int>(numbers.size()), MPI_INT64_T, rank, tag,
                          comm, &sends.emplace_back(MPI_REQUEST_NULL)),
          "MPI_Issend");
  NumbersByRank got;
  MPI_Request barrier = MPI_REQUEST_NULL;
  for (int ended = 0; ended == 0;) {
    receive_one(comm, tag, got);
    if (barrier != MPI_REQUEST_NULL) {
      check(real.MPI_Test(&barrier, &ended, MPI_STATUS_IGNORE), "MPI_Test");
      continue;
    }
    int sent = 0;
    check(
        real.MPI_Testall(static_cast<int>(sends.size()), sends.data(), &sent, MPI_STATUSES_IGNORE),
        "MPI_Testall");
    if (sent != 0) check(real.MPI_Ibarrier(comm, &barrier), "MPI_Ibarrier");
  }
  return got;
}

}  // namespace strake::mpi
