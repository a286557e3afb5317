/// \file  Where a kernel runs, and how the host learns that it is done.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace strake::cuda {

/// A kernel's completion signal: when all bytes are written, its last block stores `value` to
/// `flag` (mapped host memory).
struct Signal {
  std::uint64_t* flag = nullptr;  ///< null: no signal
  std::uint64_t value = 0;
  unsigned* arrivals = nullptr;  ///< device memory, zero between kernels
};

class CudaQueue;

/// Where kernels run. A plain value.
struct LaunchTarget {
  cudaStream_t stream = nullptr;
  /// Whether a kernel may be set up while the one before it still runs (devices of compute
  /// capability 9.0 and later).
  bool early = false;
  int multiprocessors = 1;
  /// The queue whose next ticket the work's last kernel signals where that is cheap; null: nobody
  /// waits for this work alone.
  CudaQueue* queue = nullptr;
  /// Kernels are loaded, not launched. A first launch would load them, and might wait for all work
  /// of the device.
  bool load_only = false;

  [[nodiscard]] LaunchTarget untracked() const noexcept {
    LaunchTarget target = *this;
    target.queue = nullptr;
    return target;
  }
};

}  // namespace strake::cuda
