/// \file  Streams and events: where copies are enqueued, and points in that work to wait for.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "strake/api.hpp"

/// The type that `cudaStream_t` points to.
struct CUstream_st;

namespace strake {

class DeviceEvent;
class DeviceStream;

/// A point in the work of a stream. It may be recorded any number of times; the last one counts.
/// For one thread at a time.
class STRAKE_API Event {
 public:
  /// Not recorded yet: query(), synchronize() and Stream::wait() throw InvalidArgument.
  Event() noexcept;
  /// `other` counts as not recorded then.
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();

  /// Whether the work before it is complete.
  /// \throws InvalidArgument  it was never recorded; Unsupported  it was recorded in a stream that
  /// was being captured; CudaError
  [[nodiscard]] bool query() const;
  /// Blocks the host until that work is complete. \throws  as query()
  void synchronize() const;

 private:
  friend class Stream;
  void require_recorded() const;
  std::unique_ptr<DeviceEvent> device_event_;  // null where the CPU's stream recorded it last
  bool recorded_ = false;
};

/// An in-order queue of work: the CPU's, on which each call is complete when it returns, or a
/// device's. Work on a device's stream may be captured in a CUDA graph. Several objects may name
/// one stream of the runtime. For one thread at a time.
class STRAKE_API Stream {
 public:
  /// The CPU's.
  Stream() noexcept;
  /// A new stream of a device, ordered with other streams, the default ones too, by events alone.
  /// It is destroyed with this object, after its work.
  /// \throws InvalidArgument  there is no such device; Unsupported  the process has not used its
  /// device yet, or Strake has no back end for it; CudaError
  [[nodiscard]] static Stream make(int device);
  /// A stream of the user's: one of the runtime or the driver; null or `cudaStreamLegacy`;
  /// `cudaStreamPerThread`, which is the calling thread's at each call (a program that is compiled
  /// for per-thread default streams names it so, not by null). It is not destroyed with this
  /// object, and must outlive it: CUDA can't tell a stream that was destroyed. The device is the
  /// stream's own; for a default stream it is `device`, or the current one (-1).
  /// \throws InvalidArgument  it is a stream of another device than `device`, or of another context
  /// than its device's primary one; Unsupported, CudaError
  [[nodiscard]] static Stream adopt(CUstream_st* stream, int device = -1);
  /// The other one is the CPU's then.
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  /// The device's ordinal; -1 for the CPU's.
  [[nodiscard]] int device() const noexcept;
  /// The `cudaStream_t`; null for the CPU's.
  [[nodiscard]] CUstream_st* native() const noexcept;

  /// `event` becomes the point after the work that was enqueued so far. The first time it makes an
  /// event of the runtime (~1 us more).
  /// \throws Unsupported  this is the legacy default stream, and another stream of the device is
  /// being captured; CudaError
  void record(Event& event);
  /// Work that is enqueued later starts after `event`, of any device. The device waits, not the
  /// host; only on the CPU's stream the host does. A stream joins the capture that `event` was
  /// recorded in.
  /// \throws InvalidArgument  `event` was never recorded; Unsupported  this stream is being
  /// captured and `event` is not of that capture, or this is the legacy default stream and a
  /// capture goes on; CudaError  the capture of `event` has ended
  void wait(const Event& event);
  /// Whether all work that was enqueued is complete.
  /// \throws Unsupported  it is being captured, or as record(); CudaError
  [[nodiscard]] bool query() const;
  /// Blocks the host until that work is complete. \throws  as query()
  void synchronize() const;

 private:
  friend struct StreamAccess;  // the library's own
  explicit Stream(std::unique_ptr<DeviceStream> stream) noexcept;
  std::unique_ptr<DeviceStream> device_stream_;  // null for the CPU's
};

/// A stream as a call takes it: a Stream, or a `cudaStream_t` as it is (Stream::adopt says which).
/// It owns nothing, and lives no longer than the call.
class StreamRef {
 public:
  StreamRef(Stream& stream) noexcept : stream_(&stream) {}      // NOLINT(*-explicit-*)
  StreamRef(CUstream_st* native) noexcept : native_(native) {}  // NOLINT(*-explicit-*)

 private:
  friend class StreamList;  // the library's own
  Stream* stream_ = nullptr;
  CUstream_st* native_ = nullptr;  // counts if there is no stream_
};

/// The streams that a call is ordered with: none, one, or several. It owns none of them, and lives
/// no longer than the call. A null `cudaStream_t` is the legacy default stream of the current
/// device alone.
class Streams {
 public:
  Streams() noexcept = default;
  // NOLINTBEGIN(*-explicit-*)
  Streams(Stream& one) noexcept : streams_(&one, 1) {}
  Streams(CUstream_st* one) : refs_{one} {}
  Streams(StreamRef one) : refs_{one} {}
  Streams(std::span<Stream> several) noexcept : streams_(several) {}
  Streams(std::vector<Stream>& several) noexcept : streams_(several) {}
  template <std::size_t Count>
  Streams(std::array<Stream, Count>& several) noexcept : streams_(several) {}
  Streams(std::initializer_list<StreamRef> several) : refs_(several) {}
  // NOLINTEND(*-explicit-*)

 private:
  friend class StreamList;
  std::span<Stream> streams_;
  std::vector<StreamRef> refs_;  // counts if there is no stream in streams_
};

}  // namespace strake
