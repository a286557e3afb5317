/// \file  The ways in which programs exchange a halo.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mpi/halo.hpp"

namespace bench {

struct HaloForm {
  std::string name;
  /// A function that exchanges the halo once. It holds what it made of MPI; the halo must outlive
  /// it. Collective.
  std::function<std::function<void()>(const Halo&)> prepare;
};

/// p2p: Irecv, Isend, Waitall. persistent: Startall, Waitall. sendrecv: 26 MPI_Sendrecv a field.
/// neighbourhood: MPI_Neighbor_alltoallw, one call a field.
const std::vector<HaloForm>& halo_forms();

}  // namespace bench
