/// \file  The parts of a message, each written for its one case: copies between a 2D object and
/// dense bytes, which raise a flag on which the host spins.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace bench {

/// `blocks` blocks of `block_bytes` (a power of two, 8 or more), `pitch_bytes` apart.
struct Object2d {
  std::int64_t block_bytes = 0;
  std::int64_t pitch_bytes = 0;
  std::int64_t blocks = 0;
  [[nodiscard]] std::int64_t payload_bytes() const { return block_bytes * blocks; }
};

/// Where a kernel says that it is done: the last of its thread blocks, counted in `arrivals`
/// (device memory, zero before and after), writes `value` to `flag` (mapped host memory).
struct Done {
  volatile std::uint64_t* flag = nullptr;
  std::uint64_t value = 0;
  unsigned* arrivals = nullptr;
};

/// One thread writes the flag, and that is all.
cudaError_t launch_nothing(const Done& done, cudaStream_t stream);
/// Object at `strided` to `dense` bytes. Either may be mapped host memory.
cudaError_t launch_pack(const Object2d& object, std::byte* dense, const std::byte* strided,
                        const Done& done, cudaStream_t stream);
cudaError_t launch_unpack(const Object2d& object, std::byte* strided, const std::byte* dense,
                          const Done& done, cudaStream_t stream);

}  // namespace bench
