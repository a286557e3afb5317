/// \file  Points in the work of the legacy default stream, by events.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <vector>

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
  /// Of a mark that is not known to be reached: whether it is.
  [[nodiscard]] bool ask(std::uint64_t mark) const;
  /// It is, and all before it.
  void reach(std::uint64_t mark);
  [[nodiscard]] std::uint64_t last() const noexcept { return reached_ + waiting_.size(); }
  void destroy() noexcept;

  int device_;
  cudaStream_t stream_ = nullptr;
  std::uint64_t reached_ = 0;        ///< no later one is known to be
  std::deque<cudaEvent_t> waiting_;  ///< of the marks after that
  std::vector<cudaEvent_t> free_;
};

}  // namespace strake::cuda
