/// \file  Streams and events: where copies are enqueued, and points in that work to wait for.
#pragma once

#include <memory>

/// What `cudaStream_t` points to.
struct CUstream_st;

namespace strake {

class DeviceEvent;
class DeviceStream;

/// A point in the work of a stream. It may be recorded any number of times; the last one counts.
/// For one thread at a time.
class Event {
 public:
  /// One that was never recorded.
  Event() noexcept;
  Event(Event&&) noexcept;
  Event& operator=(Event&&) noexcept;
  ~Event();

  /// Whether the work before it is complete. \throws InvalidArgument  it was never recorded;
  /// Unsupported  it was recorded in a stream that was being captured; CudaError
  [[nodiscard]] bool query() const;
  /// Blocks the host until it is. \throws  as query()
  void synchronize() const;

 private:
  friend class Stream;
  void require_recorded() const;
  std::unique_ptr<DeviceEvent> device_event_;  // null where the CPU's stream recorded it last
  bool recorded_ = false;
};

/// An in-order queue of work. On the CPU's, work is complete when the call that enqueues it
/// returns. What is enqueued on a device's may be captured in a CUDA graph. For one thread at a
/// time; several may be the same stream of the runtime.
class Stream {
 public:
  /// The CPU's.
  Stream() noexcept;
  /// A new stream of a device, ordered with other streams, the default ones too, by events alone.
  /// It is destroyed with this object, after its work. \throws InvalidArgument  there is no such
  /// device; Unsupported  the process uses no device runtime, or Strake has no back end for it;
  /// CudaError
  [[nodiscard]] static Stream make(int device);
  /// A stream of the user's, which must outlive this object and is not destroyed with it: of the
  /// runtime or the driver, or a default stream: null or `cudaStreamLegacy`, `cudaStreamPerThread`.
  /// The device is the stream's own; for a default stream it is `device`, or the current one (-1).
  /// \throws InvalidArgument  it is a stream of another device than `device`, or of another context
  /// than its device's primary one; Unsupported, CudaError
  [[nodiscard]] static Stream adopt(CUstream_st* stream, int device = -1);
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  /// The device's ordinal; -1 for the CPU's.
  [[nodiscard]] int device() const noexcept;
  /// The `cudaStream_t`; null for the CPU's.
  [[nodiscard]] CUstream_st* native() const noexcept;

  /// `event` becomes the point after the work that was enqueued so far. The first time it makes an
  /// event of the runtime (~1 us more). \throws CudaError
  void record(Event& event);
  /// Work that is enqueued later starts after `event`, of any device. The device waits, not the
  /// host; only on the CPU's stream the host does. \throws InvalidArgument  it was never recorded;
  /// Unsupported  one of the two is part of a capture and the other is not; CudaError
  void wait(const Event& event);
  /// Whether all work that was enqueued is complete. \throws Unsupported  it is being captured;
  /// CudaError
  [[nodiscard]] bool query() const;
  /// Blocks the host until it is. \throws  as query()
  void synchronize() const;

 private:
  friend struct StreamAccess;  // the library's own
  explicit Stream(std::unique_ptr<DeviceStream> stream) noexcept;
  std::unique_ptr<DeviceStream> device_stream_;  // null for the CPU's
};

}  // namespace strake
