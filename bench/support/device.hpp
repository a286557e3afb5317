/// \file  Devices, and memory that their kernels reach.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <vector>

namespace bench {

/// Ends the process with a message if a call failed.
void check(cudaError_t code, std::source_location where = std::source_location::current());

enum class Where {
  Device,
  Pinned,  ///< host memory that is mapped: kernels reach it
};

/// Bytes for as long as they are in scope, zeroes at first.
class DeviceMemory {
 public:
  static constexpr int kCurrent = -1;
  DeviceMemory(Where where, std::int64_t bytes, int device = kCurrent);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] double* doubles() const { return reinterpret_cast<double*>(data_); }
  [[nodiscard]] std::int64_t size() const { return bytes_; }
  void write(const void* from);
  [[nodiscard]] std::vector<std::byte> read() const { return read(0, bytes_); }
  [[nodiscard]] std::vector<std::byte> read(std::int64_t offset, std::int64_t bytes) const;

 private:
  Where where_;
  std::int64_t bytes_;
  std::byte* data_ = nullptr;
};

}  // namespace bench
