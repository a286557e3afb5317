/// \file  Streams and events of the CUDA runtime: the user's, and those that are made for the user.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "device/backend.hpp"
#include "device/cuda/signal.hpp"

namespace strake::cuda {

class CudaEvent final : public DeviceEvent {
 public:
  explicit CudaEvent(int device);
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  [[nodiscard]] int device() const noexcept override { return device_; }
  [[nodiscard]] bool query() const override;
  void synchronize() const override;

 private:
  friend class CudaStream;
  void require_uncaptured() const;

  int device_;
  cudaEvent_t event_ = nullptr;
  std::uint64_t capture_ = 0;  ///< that it was recorded in; 0: none
};

class CudaStream final : public DeviceStream {
 public:
  enum class Owned : bool { No, Yes };
  /// \param early  whether its kernels may be set up while the one before still runs
  CudaStream(int device, cudaStream_t stream, Owned owned, int multiprocessors,
             bool early = false) noexcept
      : device_(device),
        stream_(stream),
        owned_(owned),
        multiprocessors_(multiprocessors),
        early_(early) {}
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  [[nodiscard]] int device() const noexcept override { return device_; }
  [[nodiscard]] void* native() const noexcept override { return stream_; }
  [[nodiscard]] bool capturing() const override;
  void record(DeviceEvent& event) override;
  void wait(const DeviceEvent& event) override;
  [[nodiscard]] bool query() const override;
  void synchronize() const override;

  /// For kernels. \throws Unsupported  as capturing()
  [[nodiscard]] LaunchTarget target() const;

 private:
  /// The capture that it is part of; 0: none. \throws Unsupported  as capturing()
  [[nodiscard]] std::uint64_t capture() const;
  void require_uncaptured() const;

  int device_;
  cudaStream_t stream_;
  Owned owned_;
  int multiprocessors_;
  bool early_;
};

/// Whether `stream` names a default stream, legacy or per-thread, of the current device.
[[nodiscard]] bool is_default_stream(cudaStream_t stream) noexcept;
/// The device of a stream, as the driver knows it.
/// \throws InvalidArgument  the stream is not of the primary context of its device
[[nodiscard]] int device_of_stream(cudaStream_t stream);

}  // namespace strake::cuda
