/// \file  The device of a rank.
#pragma once

#include "mpi/environment.hpp"
#include "support/device.hpp"

namespace bench {

/// The number of devices that this process sees. \throws NoDevice  none
[[nodiscard]] int devices();
/// The device of a rank: ranks share the devices of their node round robin.
[[nodiscard]] int device_of(int rank);
/// Makes this rank's device the current one, and returns it.
int use_device();

}  // namespace bench
