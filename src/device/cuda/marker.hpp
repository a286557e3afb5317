/// \file  Points in the work of the legacy default stream, by events.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>

#include "device/backend.hpp"

namespace strake::cuda {

/// Its events are recorded in a blocking stream that holds nothing else: so they wait for what the
/// default stream holds, and for no other stream. (An event in the default stream itself would wait
/// for all blocking ones, of the application's NCCL too.)
class CudaMarker final : public Marker {
 public:
  explicit CudaMarker(int device);
  ~CudaMarker() override;
  CudaMarker(const CudaMarker&) = delete;
  CudaMarker& operator=(const CudaMarker&) = delete;

  std::uint64_t mark() override;
  bool reached(std::uint64_t mark) override;

 private:
  /// Whether the event of a mark, or of a later one that took its place, has come.
  [[nodiscard]] bool ask(std::uint64_t mark) const;
  void destroy() noexcept;

  static constexpr std::size_t kEvents = 64;
  int device_;
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, kEvents> events_{};
  std::uint64_t last_ = 0;
  std::uint64_t reached_ = 0;  ///< no later one is known to be
};

}  // namespace strake::cuda
