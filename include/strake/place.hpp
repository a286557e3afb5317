/// \file  Where bytes can live: a kind of memory, and the device that it belongs to.
#pragma once

#include <cstdint>

#include "strake/api.hpp"

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
[[nodiscard]] STRAKE_API const char* name_of(MemoryKind kind) noexcept;

}  // namespace strake
