/// \file  Allocations of a device that other processes open (CUDA IPC): their numbers on the side
/// that has them, and what the other side has opened. A message from there is read where it lies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "device/backend.hpp"
#include "memory/sharing/arenas.hpp"

namespace strake::sharing {

/// All of the process. Threads may share it.
class DeviceExports {
 public:
  /// Allocations at a time. Each is mapped in each process that reads it, and stays there, though
  /// it is freed here, until that is noticed: at the first message from a new allocation.
  static constexpr int kMost = 64;

  static DeviceExports& get() {
    static auto& made = *new DeviceExports;
    return made;
  }
  struct Export {
    Arenas::Region region;  ///< with numbers from Arenas::kMost on
    ExportedMemory memory;
  };
  /// A number that has no allocation any more.
  struct Freed {
    std::int32_t number = 0;
    std::uint32_t generation = 0;
  };
  /// Those that find() has noticed since the last call. ~5 ns if there are none.
  [[nodiscard]] std::vector<Freed> take_freed();
  /// The allocation that holds all of [first, last). Nothing where it can't be exported (managed
  /// memory, a pool's), or there are too many. ~150 ns for a known one: the runtime is asked
  /// whether it is the same still.
  [[nodiscard]] std::optional<Export> find(const std::byte* first, const std::byte* last);

 private:
  struct Allocation {
    std::uint64_t buffer_id = 0;  ///< 0: there is none
    std::uint32_t generation = 0;
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    bool exported = false;
    ExportedMemory memory;
    [[nodiscard]] bool holds(std::uint64_t begin, std::uint64_t end) const noexcept {
      return buffer_id != 0 && base <= begin && end <= base + bytes;
    }
  };
  [[nodiscard]] static bool is_there(const Allocation& allocation) noexcept;
  Allocation* add(const std::byte* first);
  void drop(Allocation& freed);

  std::mutex mutex_;
  std::vector<Freed> freed_;
  std::array<Allocation, kMost> allocations_;
};

/// What another process has exported, open here.
class DeviceImport {
 public:
  DeviceImport() = default;
  /// \throws CudaError  the thread's current device does not reach it, or it is gone; Unsupported
  /// no device is used here
  explicit DeviceImport(const ExportedMemory& memory);
  ~DeviceImport();
  DeviceImport(DeviceImport&& other) noexcept;
  DeviceImport& operator=(DeviceImport&& other) noexcept;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  /// Whose address it is.
  [[nodiscard]] Place place() const noexcept { return place_; }
  /// Whether it has an address with `memory` in common, in the process that exports both: then it
  /// is freed there.
  [[nodiscard]] bool overlaps(const ExportedMemory& memory) const noexcept {
    return data_ != nullptr &&
           exporter_base_ < memory.base + static_cast<std::uint64_t>(memory.bytes) &&
           memory.base < exporter_base_ + static_cast<std::uint64_t>(bytes_);
  }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t exporter_base_ = 0;
  std::int64_t bytes_ = 0;
  Place place_;
};

}  // namespace strake::sharing
