/// \file  Which pages are known to be plain host memory, though the process uses a device.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace strake {

/// Pages that are the host's as long as the driver maps nothing (DriverMaps::generation). A
/// direct-mapped table whose entries are single words: lock-free, and never torn. A generation of 0
/// says that calls of the driver are not counted: no page is known then.
class HostPages {
 public:
  /// Whether the page of `address` is known, ~1 ns.
  [[nodiscard]] bool holds(const void* address, std::uint64_t generation) const noexcept {
    const std::uint64_t word = word_of(address, generation);
    return word != 0 && slots_[slot_of(address)].load(std::memory_order_relaxed) == (word | kKnown);
  }

  /// The page is memory that no driver ever gets.
  void enter(const void* address, std::uint64_t generation) noexcept {
    if (const std::uint64_t word = word_of(address, generation); word != 0)
      slots_[slot_of(address)].store(word | kKnown, std::memory_order_relaxed);
  }
  /// The driver, asked after `generation` was read, does not know the address. The page is entered
  /// when this was so before in the same generation, so that pages that are used once cost no
  /// system call, and only if the host can read it: a page that nobody may touch is perhaps an
  /// address that the driver has reserved, where it can put a device's memory without a call.
  void note_unknown(const void* address, std::uint64_t generation) noexcept;

 private:
  // The smallest pages that systems have are of 4 KiB. The kernel maps nothing above 2^48 unless it
  // is asked to.
  static constexpr int kPageBits = 12;
  static constexpr int kAddressBits = 48;
  // 32 KiB: pages that messages begin on.
  static constexpr int kSlotBits = 12;
  static constexpr int kGenerationBits = 64 - (kAddressBits - kPageBits - kSlotBits) - 1;
  static constexpr std::uint64_t kKnown = std::uint64_t{1} << kGenerationBits;

  static std::uint64_t page_of(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address) >> kPageBits;
  }
  /// Arrays that are a power of two apart get slots of their own. The low bits of a page follow
  /// from its slot and the rest, which is in the word.
  static std::size_t slot_of(const void* address) noexcept {
    const std::uint64_t page = page_of(address);
    return (page ^ page >> kSlotBits ^ page >> 2 * kSlotBits) % (std::size_t{1} << kSlotBits);
  }
  /// 0 where it does not fit a word.
  static std::uint64_t word_of(const void* address, std::uint64_t generation) noexcept {
    const std::uint64_t page = page_of(address);
    if (generation == 0 || generation >= kKnown || page >> (kAddressBits - kPageBits) != 0)
      return 0;
    return page >> kSlotBits << (kGenerationBits + 1) | generation;
  }

  std::array<std::atomic<std::uint64_t>, std::size_t{1} << kSlotBits> slots_{};
};

/// Whether the page of `address` is known to be plain host memory, ~3 ns: so is all memory of a
/// process without a device. False says nothing.
[[nodiscard]] bool known_as_host(const void* address) noexcept;

}  // namespace strake
