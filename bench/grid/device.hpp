/// \file  The device of a rank, and memory that its kernels reach.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <source_location>

namespace bench {

/// \throws strake::CudaError  with the call's place, if a call failed
void check(cudaError_t code, std::source_location where = std::source_location::current());

/// The number of devices that this process sees. \throws NoDevice  none
[[nodiscard]] int devices();
/// The device of a rank: ranks share the devices of their node round robin.
[[nodiscard]] int device_of(int rank);
/// Makes this rank's device the current one, and returns it.
int use_device();

/// Whether all ranks say yes. Collective.
[[nodiscard]] bool all_ranks(bool yes);

/// Bytes for as long as they are in scope.
class DeviceMemory {
 public:
  enum class Where {
    Device,  ///< the current device's
    Pinned,  ///< host memory that kernels reach
  };
  DeviceMemory(Where where, std::int64_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] double* doubles() const { return reinterpret_cast<double*>(data_); }

 private:
  Where where_;
  std::byte* data_ = nullptr;
};

}  // namespace bench
