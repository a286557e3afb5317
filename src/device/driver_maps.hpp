/// \file  Notices that a device's driver maps memory, without asking the driver: its calls of mmap
/// and the like lead to functions of Strake, which count them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace strake {

/// The library of CUDA's driver. Strake never loads it: the process has it, or has no device.
inline constexpr const char* kDriverLibrary = "libcuda.so.1";

/// The count of a driver's calls that may turn host memory into memory of a device: mmap, mmap64
/// and mremap, and ioctl, by which it page-locks memory.
class DriverMaps {
 public:
  /// Grows with each such call before the call returns, so whoever has an address from the driver
  /// finds another value than before. 0: calls are no longer counted, because something else has
  /// changed the driver's slots since. ~2 ns.
  [[nodiscard]] std::uint64_t generation() const noexcept {
    for (std::size_t i = 0; i < size_; ++i)
      if (__atomic_load_n(slots_[i].at, __ATOMIC_RELAXED) != slots_[i].ours) return 0;
    return calls_->load(std::memory_order_acquire);
  }

 private:
  friend class DriverObject;
  /// A pointer in the driver's memory by which it calls a function of the C library.
  struct Slot {
    void** at = nullptr;
    void* ours = nullptr;
  };
  std::array<Slot, 16> slots_{};  // a driver has one or two for each function
  std::size_t size_ = 0;
  const std::atomic<std::uint64_t>* calls_ = nullptr;
};

/// Counts the calls of a loaded shared object from now on, by the name that dlopen knows it by.
/// Nothing: they can't be counted, because it is not loaded, calls no mmap by a slot, or has a slot
/// that can't be changed. The object stays loaded from then on, and so must this code.
[[nodiscard]] std::optional<DriverMaps> watch_driver_maps(const char* object) noexcept;

}  // namespace strake
