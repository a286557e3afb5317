/// \file  Points in the work of the legacy default stream, by events.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "device/backend.hpp"

namespace strake::cuda {

/// A marker records its events in a blocking stream that holds nothing else, so they wait for the
/// default stream's work, and for no other stream. (An event in the default stream itself would
/// wait for all blocking streams, those of the application's NCCL too.)
class CudaMarker final : public Marker {
 public:
  explicit CudaMarker(int device);
  ~CudaMarker() override;
  CudaMarker(const CudaMarker&) = delete;
  CudaMarker& operator=(const CudaMarker&) = delete;

  std::uint64_t mark() override;
  bool reached(std::uint64_t mark) override;

 private:
  /// Whether `mark`, which was not known to be reached, is reached.
  [[nodiscard]] bool ask(std::uint64_t mark) const;
  /// Notes that `mark` and all marks before it are reached.
  void reach(std::uint64_t mark);
  [[nodiscard]] std::uint64_t last() const noexcept { return reached_ + waiting_.size(); }
  void destroy() noexcept;

  int device_;
  cudaStream_t stream_ = nullptr;
  std::uint64_t reached_ = 0;        ///< the last mark known to be reached
  std::deque<cudaEvent_t> waiting_;  ///< events of the marks after reached_
  std::vector<cudaEvent_t> free_;
};

}  // namespace strake::cuda
