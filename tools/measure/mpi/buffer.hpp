/// \file  A message's memory, on the host or on a device, and the host's view of it.
#pragma once

#include <cstdint>

#include "data.hpp"
#include "probe/cuda_driver.hpp"

namespace strake::measure {

using probe::CudaDriver;

/// Which device this rank's buffers are on; none: they are the host's.
struct Device {
  CudaDriver* driver = nullptr;
  int ordinal = 0;
  /// Makes it this thread's. \throws CudaError
  void use() const {
    if (driver != nullptr) driver->use(ordinal);
  }
};

class Buffer {
 public:
  /// Holds MessageMemory::kUntouched. \throws std::bad_alloc, CudaError
  Buffer(std::int64_t bytes, const Device& device) : host_(bytes), bytes_(bytes), device_(device) {
    if (device.driver == nullptr || bytes == 0) return;
    device_.use();
    memory_ = device_.driver->allocate(static_cast<std::size_t>(bytes));
    upload();
  }
  ~Buffer() {
    if (memory_ != 0) device_.driver->release(memory_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// The address that MPI gets.
  [[nodiscard]] void* data() const noexcept {
    return memory_ != 0 ? reinterpret_cast<void*>(memory_) : host_.data();
  }
  /// The address that the CPU uses, in step with `data` after `download` and `upload`.
  [[nodiscard]] std::byte* host() const noexcept { return host_.data(); }
  void upload() const {
    if (memory_ == 0) return;
    device_.use();
    device_.driver->to_device(memory_, host_.data(), static_cast<std::size_t>(bytes_));
  }
  void download() const {
    if (memory_ == 0) return;
    device_.use();
    device_.driver->to_host(host_.data(), memory_, static_cast<std::size_t>(bytes_));
  }

 private:
  MessageMemory host_;
  std::int64_t bytes_;
  Device device_;
  std::uint64_t memory_ = 0;
};

}  // namespace strake::measure
