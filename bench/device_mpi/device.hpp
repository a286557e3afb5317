/// \file  The device of a plain MPI program, and the parts that its messages are compared with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device_mpi/kernels.hpp"
#include "support/device.hpp"
#include "support/report.hpp"

namespace bench {

/// Ends the process with status 77 (a skipped test) where there is no device.
void require_device();
/// Ranks share the devices round robin. Returns how many there are.
int use_device(int rank);
std::string device_name();
/// The transport that the environment sets, for the lines: STRAKE_METHOD and STRAKE_CHUNK.
std::vector<Field> method_fields();

/// Kernels and copies from call to return, one at a time.
class Parts {
 public:
  Parts();
  ~Parts();
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  /// The least that a kernel call can cost.
  void nothing();
  void pack(const Object2d& object, const DeviceMemory& dense, const DeviceMemory& strided);
  void unpack(const Object2d& object, const DeviceMemory& strided, const DeviceMemory& dense);
  void copy(const DeviceMemory& to, const DeviceMemory& from, std::int64_t bytes);

 private:
  Done next();
  void wait() const;

  DeviceMemory flag_;
  DeviceMemory arrivals_;
  std::uint64_t value_ = 0;
  cudaStream_t stream_{};
};

}  // namespace bench
