#include "exchange/planned/agree.hpp"

#include <limits>

#include "mpi/real_mpi.hpp"
#include "strake/error.hpp"

namespace strake::exchange::planned {

void agree(MPI_Comm comm, const std::string& fault, FaultKind kind) {
  const mpi::RealMpi& real = mpi::real_mpi();
  int rank = 0;
  real.MPI_Comm_rank(comm, &rank);
  const int none = std::numeric_limits<int>::max();
  int first = fault.empty() ? none : rank;
  mpi::check(real.MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  if (first == none) return;
  std::string text = fault;
  int about[] = {static_cast<int>(text.size()), static_cast<int>(kind)};
  mpi::check(real.MPI_Bcast(about, 2, MPI_INT, first, comm), "MPI_Bcast");
  text.resize(static_cast<std::size_t>(about[0]));
  mpi::check(real.MPI_Bcast(text.data(), about[0], MPI_CHAR, first, comm), "MPI_Bcast");
  switch (static_cast<FaultKind>(about[1])) {
    case FaultKind::Argument:
      throw InvalidArgument(text);
    case FaultKind::Unsupported:
      throw Unsupported(text);
    case FaultKind::Memory:
      throw OutOfMemory(text);
    case FaultKind::Other:
      break;
  }
  throw Error(text);
}

}  // namespace strake::exchange::planned
