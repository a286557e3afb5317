/// \file  The nodes and islands that the parts of a grid can go to.
#pragma once

#include <mpi.h>

#include <span>

#include "placement/ordering.hpp"
#include "strake/place.hpp"

namespace strake::grid {

/// Where the places of all ranks are, in the order of ranks. Collective.
/// \param places       this rank's
/// \param first_place  by rank, and how many there are
/// \throws InvalidArgument, MpiError
[[nodiscard]] placement::Homes homes_of(MPI_Comm comm, std::span<const Place> places,
                                        std::span<const int> first_place);

}  // namespace strake::grid
