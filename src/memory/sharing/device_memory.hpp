/// \file  Memory of a device that other processes open (CUDA IPC; pieces of cuMemMap, by
/// descriptors): its numbers on the side that has it, and what the other side has opened. A message
/// from there is read where it lies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "device/backend.hpp"
#include "memory/sharing/arenas.hpp"
#include "memory/sharing/descriptor.hpp"
#include "state/process_state.hpp"

namespace strake::sharing {

/// Why the memory of a device is opened by no other process.
enum class Declined : std::uint8_t {
  Managed,  ///< no device has it for good
  Pool,     ///< of a pool (cudaMallocAsync), or of cuMemMap without descriptors
  TooMany,  ///< DeviceExports::kMost others are, or it has more than ExportedMemory::kMostPieces
  Refused,  ///< by the driver
};
inline constexpr int kDeclined = 4;
/// For people: "managed memory".
[[nodiscard]] const char* name_of(Declined why) noexcept;

/// All of the process. Threads may share it. Memory that is about to be read by others is numbered:
/// an allocation of cudaMalloc, or pieces of cuMemMap that follow each other without a gap.
class DeviceExports {
 public:
  /// Most allocations at a time. Each is mapped in each process that reads it, and stays there,
  /// though it is freed here, until that is noticed: at the first message from a new allocation.
  static constexpr int kMost = 64;

  static DeviceExports& get() { return ProcessState::part<DeviceExports>(); }
  /// A number that has no allocation any more.
  struct Freed {
    std::int32_t number = 0;
    std::uint32_t generation = 0;
  };
  /// Returns the freed allocations that find() has noticed. Skips those of which other pieces are
  /// still read for a message, as `in_use(number)` tells. The numbers are used again. ~10 ns if
  /// there are none.
  template <typename InUse>
  [[nodiscard]] std::vector<Freed> take_freed(const InUse& in_use) {
    const std::lock_guard lock(mutex_);
    std::vector<Freed> taken;
    if (freed_ == 0) return taken;
    for (Allocation& allocation : allocations_) {
      if (!allocation.freed || in_use(number_of(allocation))) continue;
      if (allocation.exported) taken.push_back({number_of(allocation), allocation.generation});
      forget(allocation);
    }
    return taken;
  }
  /// The allocation that holds all of [first, last), with a number from Arenas::kRegions on.
  /// Nothing, and `why`, where it can't be exported. ~150 ns for known memory: the runtime is asked
  /// whether it is the same still, 110 ns for each piece.
  [[nodiscard]] std::optional<Arenas::Region> find(const std::byte* first, const std::byte* last,
                                                   Declined& why);
  struct Export {
    ExportedMemory memory;
    std::vector<FileDescriptor> descriptors;  ///< of its pieces; fewer: one is gone
  };
  /// For another process to open what find() gave.
  [[nodiscard]] Export export_of(const Arenas::Region& found);

 private:
  struct Allocation {
    std::vector<MemoryPiece> pieces;  ///< none: there is none of this number
    std::uint32_t generation = 0;
    bool exported = false;
    bool freed = false;  ///< some of it: it is not found any more
    ExportedMemory memory;
    [[nodiscard]] std::uint64_t begin() const noexcept { return pieces.front().base; }
    [[nodiscard]] std::uint64_t end() const noexcept { return end_of(pieces.back()); }
    [[nodiscard]] bool holds(std::uint64_t first, std::uint64_t last) const noexcept {
      return !pieces.empty() && !freed && begin() <= first && last <= end();
    }
  };
  [[nodiscard]] static std::uint64_t end_of(const MemoryPiece& piece) noexcept {
    return piece.base + static_cast<std::uint64_t>(piece.bytes);
  }
  [[nodiscard]] static bool is_there(const Allocation& allocation, std::uint64_t first,
                                     std::uint64_t last) noexcept;
  [[nodiscard]] std::int32_t number_of(const Allocation& allocation) const noexcept {
    return Arenas::kRegions + static_cast<std::int32_t>(&allocation - allocations_.data());
  }
  Allocation* add(std::uint64_t first, std::uint64_t last, Declined& why);
  Allocation* unused();
  void let_go_of_stale();
  void let_go(Allocation& gone) noexcept;
  void forget(Allocation& gone) noexcept;

  std::mutex mutex_;
  int freed_ = 0;  ///< how many Allocation::freed
  std::uint32_t asked_ = 0;
  /// Memory that was declined, as there was too much: it is asked about again now and then.
  struct Refusal {
    std::uint64_t buffer_id = 0;
    std::uint32_t messages = 0;
  };
  std::array<Refusal, 16> declined_;
  std::size_t next_refusal_ = 0;
  std::array<Allocation, kMost> allocations_;
};

/// An allocation that another process has exported, open here.
class DeviceImport {
 public:
  DeviceImport() = default;
  /// \throws CudaError  that device does not reach it, or it is gone; InvalidArgument  a descriptor
  /// is of something else; Unsupported  no device is used here
  /// \param descriptors  of its pieces
  /// \param device  that reads it; negative: the thread's current one
  DeviceImport(const ExportedMemory& memory, std::span<const int> descriptors, int device = -1);
  ~DeviceImport();
  DeviceImport(DeviceImport&& other) noexcept;
  DeviceImport& operator=(DeviceImport&& other) noexcept;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return memory_.bytes; }
  /// The place of data(): device memory, by the number of the device that reads it.
  [[nodiscard]] Place place() const noexcept { return place_; }
  /// Whether the process that exports both has freed this allocation, since `memory` has an address
  /// in common with it. False for memory in pieces, of which this is not known.
  [[nodiscard]] bool replaced_by(const ExportedMemory& memory) const noexcept {
    return data_ != nullptr && memory.pieces == 0 && memory_.pieces == 0 &&
           memory_.base < memory.base + static_cast<std::uint64_t>(memory.bytes) &&
           memory.base < memory_.base + static_cast<std::uint64_t>(memory_.bytes);
  }

 private:
  std::byte* data_ = nullptr;
  ExportedMemory memory_;
  Place place_;
};

}  // namespace strake::sharing
