/// \file  Device memory of a plain MPI program, and the parts that its messages are compared with.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "device_mpi/kernels.hpp"
#include "support/report.hpp"

namespace bench {

/// Ends the process with a message if a call failed.
void check(cudaError_t code, std::source_location where = std::source_location::current());

/// Ends the process with status 77 (a skipped test) where there is no device.
void require_device();
/// Ranks share the devices round robin. Returns how many there are.
int use_device(int rank);
std::string device_name();
/// The transport that the environment sets, for the lines: STRAKE_METHOD and STRAKE_CHUNK.
std::vector<Field> method_fields();

enum class Where { Device, Pinned };

/// Memory for as long as it is in scope. Pinned memory is mapped: kernels reach it.
class DeviceBuffer {
 public:
  DeviceBuffer(Where where, std::int64_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::int64_t size() const { return bytes_; }
  void write(const std::byte* from);
  [[nodiscard]] std::vector<std::byte> read() const;

 private:
  Where where_;
  std::int64_t bytes_;
  std::byte* data_ = nullptr;
};

/// Kernels and copies from call to return, one at a time.
class Parts {
 public:
  Parts();
  ~Parts();
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  /// The least that a kernel call can cost.
  void nothing();
  void pack(const Object2d& object, const DeviceBuffer& dense, const DeviceBuffer& strided);
  void unpack(const Object2d& object, const DeviceBuffer& strided, const DeviceBuffer& dense);
  void copy(const DeviceBuffer& to, const DeviceBuffer& from, std::int64_t bytes);

 private:
  Done next();
  void wait() const;

  DeviceBuffer flag_;
  DeviceBuffer arrivals_;
  std::uint64_t value_ = 0;
  cudaStream_t stream_{};
};

}  // namespace bench
