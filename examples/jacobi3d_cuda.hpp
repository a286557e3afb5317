/// \file  Jacobi's method on a CUDA device: what is enqueued in a stream, for cells in the device's
/// memory. The answers have the same bits as those of Jacobi on a CPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "jacobi3d.hpp"

/// \throws std::runtime_error  a call of the runtime has failed: names it
void check(cudaError_t result, const char* call);

/// \{ The cells of boxes, at most six, one box after the other, in the same order as
/// for_each_cell(). One launch.
void pack(const Jacobi::Cells& u, const std::vector<strake::Region>& boxes, double* packed,
          cudaStream_t stream);
void unpack(const Jacobi::Cells& u, const std::vector<strake::Region>& boxes, const double* packed,
            cudaStream_t stream);
/// \}

/// Of the current device. All but the last two return at once, and may be captured in graphs.
class DeviceJacobi {
 public:
  using Cells = Jacobi::Cells;

  explicit DeviceJacobi(const strake::Index3& extent);
  DeviceJacobi(const DeviceJacobi&) = delete;
  DeviceJacobi& operator=(const DeviceJacobi&) = delete;
  ~DeviceJacobi();

  /// As Jacobi::begin().
  void begin(const Cells& u, cudaStream_t stream) const;
  /// One step of the cells in `box`: bound by the memory's bandwidth if it is large.
  void relax(const Cells& from, const Cells& to, const strake::Region& box,
             cudaStream_t stream) const;
  /// One step of the cells in boxes, at most six, and thin: one launch for all.
  void relax(const Cells& from, const Cells& to, const std::vector<strake::Region>& boxes,
             cudaStream_t stream) const;
  /// \{ As those of Jacobi. The host waits for the stream.
  [[nodiscard]] double largest_change(const Cells& a, const Cells& b, cudaStream_t stream) const;
  [[nodiscard]] std::uint64_t checksum(const Cells& u, cudaStream_t stream) const;
  /// \}

 private:
  template <typename What>
  [[nodiscard]] unsigned long long reduced(const What& what, const strake::Region& region,
                                           cudaStream_t stream) const;

  Jacobi jacobi_;
  unsigned long long* result_ = nullptr;  ///< on the device
};
