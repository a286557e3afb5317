/// \file  Which devices of this process reach each other's memory.
#pragma once

namespace strake::cuda {

/// Lets `device` reach memory of `other` that cudaMalloc gives. False: the machine has no way
/// between them. ~20 ns once it does.
/// \throws CudaError
bool enable_peer(int device, int other);

}  // namespace strake::cuda
