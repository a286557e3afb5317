/// \file  The copies of a rank's rounds of puts on a device (PutRounds).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "copy/cuda/batch.hpp"
#include "copy/cuda/image.hpp"
#include "copy/cuda/kernels.hpp"
#include "copy/cuda/put_engine.hpp"
#include "copy/device_copier.hpp"

namespace strake::cuda {

/// Immutable. Its tables lie in device memory from the start.
class CudaPut final : public PutRounds {
 public:
  CudaPut(const BlockSource& blocks, int device, const PutCopies& copies, const PutState& state);

  void put(DeviceStream& stream, std::span<std::byte* const> arrays, std::uint64_t round,
           std::uint64_t ticket) const override;
  void take(DeviceStream& stream, std::span<std::byte* const> arrays, std::uint64_t round,
            std::uint64_t ticket, Await await) const override;
  void run(DeviceStream& stream, std::span<std::byte* const> arrays,
           std::uint64_t round) const override;

 private:
  enum Step : unsigned { kPut = 1, kWait = 2, kTake = 4, kApart = 8 };
  [[nodiscard]] PutLaunch launch_of(unsigned steps, std::uint64_t ticket) const noexcept;
  /// In one launch, if they are small and wait and not kApart, else in one for each. Copies of
  /// engines come before the launch that puts, and before the one that takes.
  void enqueue(DeviceStream& stream, std::span<std::byte* const> arrays, std::uint64_t round,
               std::uint64_t ticket, unsigned steps) const;

  int device_;
  PutState state_;
  int peers_;
  bool packs_ = false;    ///< some of its own copies go to buffers in host memory
  PutEngine engine_out_;  ///< what is put, and what is the rank's own
  PutEngine engine_in_;
  std::unique_ptr<CudaBatch> put_;  ///< \{ by kernels
  std::unique_ptr<CudaBatch> own_;
  std::unique_ptr<CudaBatch> take_;  ///< \}
  struct Combined {
    std::unique_ptr<CudaBatch> batch;
    std::size_t to;
    std::size_t from;
    DeviceCombine how;
  };
  std::vector<Combined> combined_;
  std::vector<PutCopies::Buffer> buffers_;
  DeviceImage flags_;
};

}  // namespace strake::cuda
