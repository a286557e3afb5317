/// \file  A cache of the places of allocations, by buffer id. Ids are never used twice, so no entry
/// can go stale.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "strake/memory.hpp"

namespace strake {

/// A direct-mapped table whose entries are single words: lock-free, and never torn.
class PlaceCache {
 public:
  [[nodiscard]] std::optional<Place> find(std::uint64_t buffer_id) const noexcept {
    if (!fits(buffer_id, {})) return std::nullopt;
    const std::uint64_t entry = slot(buffer_id).load(std::memory_order_relaxed);
    if (entry >> kPlaceBits != buffer_id) return std::nullopt;
    return Place{static_cast<MemoryKind>(entry & 3),
                 static_cast<std::int32_t>(entry >> kKindBits & kDeviceMask) - 1};
  }

  void insert(std::uint64_t buffer_id, Place place) noexcept {
    if (!fits(buffer_id, place)) return;
    const std::uint64_t device = static_cast<std::uint64_t>(place.device) + 1;
    slot(buffer_id).store(
        buffer_id << kPlaceBits | device << kKindBits | static_cast<std::uint64_t>(place.kind),
        std::memory_order_relaxed);
  }

 private:
  static constexpr int kKindBits = 2;
  static constexpr std::uint64_t kDeviceMask = 0x3ff;
  static constexpr int kPlaceBits = 12;
  // 8 KiB: more allocations than a program passes to MPI.
  static constexpr std::size_t kSlots = 1024;

  /// Id 0 is no buffer; what does not fit a word is asked about each time.
  static bool fits(std::uint64_t buffer_id, Place place) noexcept {
    return buffer_id != 0 && buffer_id >> (64 - kPlaceBits) == 0 && place.device >= -1 &&
           static_cast<std::uint64_t>(place.device) + 1 <= kDeviceMask;
  }
  std::atomic<std::uint64_t>& slot(std::uint64_t id) noexcept { return slots_[id % kSlots]; }
  const std::atomic<std::uint64_t>& slot(std::uint64_t id) const noexcept {
    return slots_[id % kSlots];
  }

  std::array<std::atomic<std::uint64_t>, kSlots> slots_{};
};

}  // namespace strake
