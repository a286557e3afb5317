/// \file  Memory of a device that is set to zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "strake/place.hpp"

namespace strake::exchange::planned {

/// Done on return. \throws OutOfMemory, CudaError
void set_zero(std::byte* data, std::int64_t bytes, Place place);

}  // namespace strake::exchange::planned
