/// \file  Found: the bytes of a call, and the transport that they should take.
#pragma once

#include <cstdint>

#include "exchange/choice/choice.hpp"

namespace strake::interpose {

using exchange::Reason;
using machine::MessageDirection;
using machine::Transport;

/// Whether a message needs nothing but the MPI library's call.
enum class Passes : std::uint8_t {
  No,
  Unshared,  ///< only in a process that takes no part in sharing
  AtOnce,
};

/// How the bytes of a call should travel.
struct Found {
  std::int64_t bytes = 0;  ///< 0 where not known
  Transport transport = Transport::Library;
  Reason reason = Reason::None;
  /// A receive that is left to the MPI library asks it for MPI_BYTE from `lowest` on, not the type
  /// (decision 5).
  bool as_bytes = false;
  Passes passes = Passes::No;
  bool shares = true;       ///< a send goes by memory that its receiver shares, where it can
  bool offers = true;       ///< there, without packing, where the receiver can copy it from
  std::int64_t lowest = 0;  ///< offset of the first byte in memory
};
/// The address `offset` bytes after `base`, which under MPI_BOTTOM is null.
inline std::uintptr_t address_of(const void* base, std::int64_t offset) noexcept {
  return reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset);
}

}  // namespace strake::interpose
