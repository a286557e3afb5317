/// \file  One compiled batch of copies on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "copy/cuda/batch_tables.hpp"
#include "copy/cuda/image.hpp"
#include "copy/cuda/kernels.hpp"
#include "copy/device_copier.hpp"

namespace strake::cuda {

/// Immutable. Its tables lie in device memory from the start.
class CudaBatch final : public DeviceBatch {
 public:
  /// Copies between slots of the given places, all of memory that the device reaches, in words of
  /// no more than 1 << `most_log2` bytes.
  CudaBatch(const BlockSource& blocks, int device, std::span<const Place> slots,
            std::span<const CopyBatch::Copy> copies, int most_log2 = BatchTables::kWidestLog2);

  [[nodiscard]] std::string description() const override;
  void enqueue(DeviceStream& stream, std::span<std::byte* const> bases) const override;
  Ticket enqueue(Queue& queue, std::span<std::byte* const> bases) const override;

  /// The narrowest of its words. [log2 bytes]
  [[nodiscard]] int narrowest_log2() const noexcept { return narrowest_log2_; }
  /// Whether a side is neither dense nor a box nor a ranked list.
  [[nodiscard]] bool has_trees() const noexcept { return has_trees_; }
  /// All but the addresses. Its tables are null if there is nothing to copy.
  [[nodiscard]] const BatchLaunch& launch() const noexcept { return launch_; }
  /// The one launch, within a DeviceScope; the signal that it raises.
  Signal launch(const LaunchTarget& target, std::span<std::byte* const> bases) const;

 private:
  int device_;
  bool has_trees_ = false;
  int narrowest_log2_ = 0;
  std::string description_;
  std::unique_ptr<DeviceImage> image_;
  BatchLaunch launch_;  // but for the bases
};

/// One launch of up to kMostTogether batches of two slots, within a DeviceScope; the signal that it
/// raises.
Signal launch_runs(const LaunchTarget& target, std::span<const BatchRun> runs);

}  // namespace strake::cuda
