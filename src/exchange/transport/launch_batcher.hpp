/// \file  Copies of messages on devices, and between them, that go in one launch: what a pass over
/// the messages in flight finds ready is collected, and launched at its end. They run in a queue of
/// their own, which waits for no stream of the application: each is collected once the work is done
/// that was in the legacy default stream when its message was started.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "copy/device_copier.hpp"
#include "device/backend.hpp"
#include "strake/layout.hpp"
#include "strake/place.hpp"

namespace strake::exchange {

/// A copy between two places of one device, or pinned memory and the device's. Slot 0 is the
/// target's.
using DeviceCopy = std::shared_ptr<const DeviceBatch>;

/// \throws Unsupported  no device back end is loaded; OutOfMemory, CudaError
[[nodiscard]] DeviceCopy compile_device_copy(const Layout& to, Place to_place, const Layout& from,
                                             Place from_place);

/// Copies that are launched at once. Whoever waits for one of them keeps it.
class LaunchBatch {
 public:
  /// Whether its copies are done; not before they are launched. Any thread may ask.
  /// \throws CudaError
  [[nodiscard]] bool done() const;

 private:
  friend class LaunchBatcher;
  enum class State : std::uint8_t { Collecting, Running, Failed };
  std::vector<DeviceCopy> copies_;
  std::vector<BatchRun> runs_;
  std::atomic<State> state_ = State::Collecting;
  std::exception_ptr failure_;  ///< of one that is Failed
  Queue* queue_ = nullptr;
  Ticket ticket_;
};

/// All of the process. Threads may share it.
class LaunchBatcher {
 public:
  [[nodiscard]] static LaunchBatcher& get();

  /// Marks the work that the device's legacy default stream holds by now.
  /// \throws as Marker::mark()
  [[nodiscard]] std::uint64_t mark(int device);
  /// Whether the work before `mark` is done. The device is queried now and then. \throws CudaError
  [[nodiscard]] bool reached(int device, std::uint64_t mark);
  /// Whether to query a device at once for what a call has begun (1.5 us). False if one was queried
  /// less than 5 us ago: a later query serves more that has begun.
  [[nodiscard]] bool shall_ask() const noexcept;
  /// A copy from `from` to `to`, whose memory the device's earlier work is done with.
  /// \throws std::bad_alloc, Unsupported, CudaError
  [[nodiscard]] std::shared_ptr<const LaunchBatch> add(int device, DeviceCopy copy, std::byte* to,
                                                       const std::byte* from);
  /// Launches what was collected. < 1 ns if that is nothing.
  void launch() noexcept {
    if (collected_.load(std::memory_order_relaxed) != 0) launch_all();
  }
  /// One copy, now. Waits for it. \throws as add(), and as LaunchBatch::done()
  void run(int device, DeviceCopy copy, std::byte* to, const std::byte* from);

 private:
  using Clock = std::chrono::steady_clock;
  struct Device {
    std::unique_ptr<Queue> copies;
    std::unique_ptr<Marker> marks;
    std::uint64_t reached = 0;  ///< by the last answer
    std::uint64_t denied = 0;   ///< by the last answer
    Clock::time_point denied_at;
    std::shared_ptr<LaunchBatch> next;  ///< what is collected; null: nothing
    /// To be used again, once nobody else has them: none is allocated in steady state.
    std::vector<std::shared_ptr<LaunchBatch>> made;
  };
  static std::shared_ptr<LaunchBatch> fresh_launch(Device& device);
  Device& device(int number);
  void launch_all() noexcept;
  void launch_next(Device& device) noexcept;

  std::mutex mutex_;
  std::map<int, Device> devices_;
  std::atomic<int> collected_ = 0;
  std::atomic<Clock::rep> asked_ = 0;  ///< when a device was, last
};

}  // namespace strake::exchange
