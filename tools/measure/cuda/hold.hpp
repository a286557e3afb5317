/// \file  How asynchronous and synchronous work is timed.
/// Sources: dissertation 3.1.1 (events), 3.1.2 (both directions), 3.1.3 (wall time).
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "measure/case.hpp"
#include "measure/cuda/machine.hpp"

namespace strake::measure::cuda {

/// A CUDA stream, destroyed with this object.
class OwnedStream {
 public:
  explicit OwnedStream(int device);
  ~OwnedStream();
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
};

/// A CUDA event, destroyed with this object.
class OwnedEvent {
 public:
  /// \param timed  whether its time is asked for
  OwnedEvent(int device, bool timed);
  ~OwnedEvent();
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;
  [[nodiscard]] cudaEvent_t get() const noexcept { return event_; }

 private:
  int device_;
  cudaEvent_t event_ = nullptr;
};

/// Keeps a stream from going on until all work is queued: a kernel that spins until the host opens
/// the gate, or until its time is over, so that a call that waits for the stream ends too.
class Gate {
 public:
  explicit Gate(int device);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  /// Enqueues the kernel on `stream`, of this gate's device, which is current.
  void close(cudaStream_t stream);
  /// The kernel ends; later ones too, until the next `close`.
  void open() noexcept { *flag_ = 1; }
  /// The kernel was over too soon. \throws Unsupported  it can't be made longer
  void lengthen();
  /// How long it stays closed by itself. [s]
  [[nodiscard]] double holds() const noexcept { return static_cast<double>(timeout_ns_) * 1e-9; }

 private:
  volatile std::uint32_t* flag_ = nullptr;
  std::uint64_t timeout_ns_;
};

/// One of the things that go on at the same time, on a stream of its own.
struct Lane {
  int device = 0;
  std::function<void(cudaStream_t)> enqueue;  ///< one operation
  /// Events recorded before it starts, 3 us each on an H200: what orders lanes that start together
  /// without taking a multiprocessor or a copy engine.
  int delay_events = 0;
  /// The lane's work is on streams that the legacy default stream orders, not on the given one.
  bool legacy = false;
};

/// A value of HeldOptions::timed_lane: the time from the common start to the end of all lanes.
constexpr int kAllLanes = -1;

struct HeldOptions {
  std::function<void()> before;  ///< on the host, before every operation (then queued one by one)
  int timed_lane = kAllLanes;    ///< or one lane's own time, from its start to its end
};

/// All lanes held until queued, started by one event, ended by a join; redone with a longer hold if
/// it was too short. Each operation runs once untimed first. The seconds of an operation are those
/// until all lanes have done it.
std::unique_ptr<Instance> held(std::vector<Lane> lanes, std::function<void()> verify,
                               HeldOptions options = {});

/// `run(iterations)` returns the seconds, by whatever clock; `device` is current in it.
std::unique_ptr<Instance> timed(int device, std::function<double(std::int64_t)> run,
                                std::function<void()> verify);
/// `once` does one operation and returns the seconds of the part that counts.
std::unique_ptr<Instance> timed_each(int device, std::function<double()> once,
                                     std::function<void()> verify);
/// `launch` enqueues `times` times so many operations as one kernel: by events around it. Some are
/// done untimed first.
std::unique_ptr<Instance> timed_kernel(int device, std::int64_t times,
                                       std::function<void(std::int64_t, cudaStream_t)> launch,
                                       std::function<void()> verify);
/// `operation` is synchronous: wall time of all.
std::unique_ptr<Instance> wall_timed(int device, std::function<void()> operation,
                                     std::function<void()> verify);

}  // namespace strake::measure::cuda
