/// \file  Tables of a compiled copy in a device's memory, and the target that loads its kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/cuda/block.hpp"
#include "device/cuda/signal.hpp"

namespace strake::cuda {

/// A target of a device that only loads kernels.
[[nodiscard]] LaunchTarget loading_target(int device);

/// Device memory that holds tables.
class DeviceImage {
 public:
  /// \throws OutOfMemory
  DeviceImage(const BlockSource& blocks, int device, std::int64_t bytes)
      : device_(device), block_(blocks, {MemoryKind::Device, device}, bytes) {}

  [[nodiscard]] const std::byte* address() const noexcept { return block_.data(); }
  /// Copies `image` to its begin and waits.
  void upload(std::span<const std::byte> image);

 private:
  int device_;
  Block block_;
};

}  // namespace strake::cuda
