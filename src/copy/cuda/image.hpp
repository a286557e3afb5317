/// \file  Tables in device memory, uploaded when a copy is compiled.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/cuda/block.hpp"

namespace strake::cuda {

/// Device memory that holds tables.
class DeviceImage {
 public:
  /// \throws OutOfMemory
  DeviceImage(int device, std::int64_t bytes)
      : device_(device), block_({MemoryKind::Device, device}, bytes) {}

  [[nodiscard]] const std::byte* address() const noexcept { return block_.data(); }
  /// Copies `image` to its begin and waits.
  void upload(std::span<const std::byte> image);

 private:
  int device_;
  Block block_;
};

}  // namespace strake::cuda
