/// \file  Datatypes on device memory: the 2D objects of the ping-pong, and what MPI_Pack is asked
/// for.
#pragma once

#include "device_mpi/kernels.hpp"
#include "mpi/case.hpp"

namespace bench {

Case case_of(const Object2d& object);
/// 1 KiB, the first of `device_cases`.
inline constexpr Object2d kSmallObject = {8, 512, 128};

/// A 2D object of 1 KiB, the face of a 256^3 grid, a struct of six faces, a list of blocks,
/// contiguous bytes.
CaseList device_cases();

}  // namespace bench
