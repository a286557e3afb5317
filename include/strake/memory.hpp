/// \file  Where bytes live: what kind of memory an address is, and on which device.
#pragma once

#include <cstdint>

namespace strake {

enum class MemoryKind : std::uint8_t {
  Host,     ///< pageable host memory, or any that no device runtime knows
  Pinned,   ///< host memory that a device runtime has page-locked
  Managed,  ///< migrates between host and device
  Device,   ///< a device's own
};

/// A kind of memory and, unless it is plain host memory, the device runtime's ordinal of its device
/// in this process.
struct Place {
  MemoryKind kind = MemoryKind::Host;
  std::int32_t device = -1;
  /// Whether the CPU may load and store there.
  [[nodiscard]] constexpr bool on_host() const noexcept { return kind != MemoryKind::Device; }
  /// Whether the bytes are in host memory, pageable or pinned, whoever touched them last.
  [[nodiscard]] constexpr bool in_host_memory() const noexcept {
    return kind == MemoryKind::Host || kind == MemoryKind::Pinned;
  }
  friend constexpr bool operator==(const Place&, const Place&) = default;
};

/// "host", "pinned", "managed", "device".
[[nodiscard]] const char* name_of(MemoryKind kind) noexcept;

/// The kind of memory that `address` points into. ~1 ns in a process without a device runtime, ~100
/// ns for memory that was asked about before. Never fails: what no runtime knows is host memory.
[[nodiscard]] Place classify(const void* address) noexcept;
/// The same for a range, up to its last byte. A range that is page-locked in part, or by more than
/// one call, is plain host memory: no device reaches all of it at once. ~100 ns more for pinned
/// memory.
[[nodiscard]] Place classify(const void* first, const void* last) noexcept;

}  // namespace strake
