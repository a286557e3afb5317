/// \file  A message to each of some ranks, and one from each.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "mpi/real_mpi.hpp"

namespace strake::exchange::planned {

/// out[i] goes to ranks[i], in[i] comes from there. `meanwhile` is called again and again. For all
/// ranks that are named anywhere.
/// \throws MpiError
template <typename T, typename Meanwhile>
void swap_with(MPI_Comm comm, const std::vector<int>& ranks, int tag, const std::vector<T>& out,
               std::vector<T>& in, const Meanwhile& meanwhile) {
  const mpi::RealMpi& real = mpi::real_mpi();
  in.resize(ranks.size());
  std::vector<MPI_Request> requests(2 * ranks.size(), MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    mpi::check(real.MPI_Irecv(&in[i], sizeof(T), MPI_BYTE, ranks[i], tag, comm, &requests[2 * i]),
               "MPI_Irecv");
    mpi::check(
        real.MPI_Isend(&out[i], sizeof(T), MPI_BYTE, ranks[i], tag, comm, &requests[2 * i + 1]),
        "MPI_Isend");
  }
  for (int done = 0; done == 0;) {
    mpi::check(real.MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                                MPI_STATUSES_IGNORE),
               "MPI_Testall");
    meanwhile();
  }
}

}  // namespace strake::exchange::planned
