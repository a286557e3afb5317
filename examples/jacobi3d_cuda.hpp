/// \file  Jacobi's method on a CUDA device: what is enqueued in a stream, for cells in the device's
/// memory. The answers have the same bits as those of Jacobi on a CPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "jacobi3d.hpp"
#include "strake/stream.hpp"

/// \throws std::runtime_error  a call of the runtime has failed: names it
void check(cudaError_t result, const char* call);

/// \{ The cells of boxes, at most six, one box after the other, in the same order as
/// for_each_cell(). One launch.
void pack(const Jacobi::Cells& u, const std::vector<strake::Box>& boxes, double* packed,
          cudaStream_t stream);
void unpack(const Jacobi::Cells& u, const std::vector<strake::Box>& boxes, const double* packed,
            cudaStream_t stream);
/// \}

/// Work of one stream, for cells in the memory of its device, which calls make the current one. All
/// but the last two return at once, and may be captured in graphs.
class DeviceJacobi {
 public:
  using Cells = Jacobi::Cells;

  /// The stream must outlive it.
  DeviceJacobi(const strake::Index3& extent, const strake::Stream& stream);
  DeviceJacobi(const DeviceJacobi&) = delete;
  DeviceJacobi& operator=(const DeviceJacobi&) = delete;
  ~DeviceJacobi();

  /// As Jacobi::begin().
  void begin(const Cells& u) const;
  /// One step of the cells in `box`: bound by the memory's bandwidth if it is large.
  void relax(const Cells& from, const Cells& to, const strake::Box& box) const;
  /// One step of the cells in boxes, at most six, and thin: one launch for all.
  void relax(const Cells& from, const Cells& to, const std::vector<strake::Box>& boxes) const;
  /// \{ As those of Jacobi. The host waits for the stream.
  [[nodiscard]] double largest_change(const Cells& a, const Cells& b) const;
  [[nodiscard]] std::uint64_t checksum(const Cells& u) const;
  /// \}

 private:
  void use_device() const;
  template <typename What>
  [[nodiscard]] unsigned long long reduced(const What& what, const strake::Box& region) const;

  Jacobi jacobi_;
  cudaStream_t stream_;
  int device_;
  unsigned long long* result_ = nullptr;  ///< on the device
};
