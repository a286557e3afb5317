/// \file  A kernel that does nothing: it is compiled for the same devices as all others.
#pragma once

#include <cuda_runtime_api.h>

namespace strake::cuda {

/// The runtime's answer for that kernel on the current device: an error if the plug-in has no
/// kernels for it.
[[nodiscard]] cudaError_t probe_attributes(cudaFuncAttributes& attributes);

}  // namespace strake::cuda
