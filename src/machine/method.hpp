/// \file  The methods by which a message can travel, and what their times depend on.
/// Sources: dissertation 5.5 (device, one-shot, staged).
#pragma once

#include <cstdint>

#include "layout/traits.hpp"
#include "strake/place.hpp"

namespace strake::machine {

enum class Method : std::uint8_t {
  System,   ///< leave it to the MPI library
  Pack,     ///< pack in host memory, send the packed bytes
  Device,   ///< pack in device memory, hand that to a GPU-aware MPI
  OneShot,  ///< pack straight into mapped host memory
  Staged,   ///< pack in device memory, copy to pinned host memory, piece by piece
  Shared,   ///< pack into memory that the receiver shares, who unpacks it from there
  Direct,   ///< the receiver copies it from where it lies, in memory that it shares
};
inline constexpr int kMethods = 7;

/// "system", "pack", …
[[nodiscard]] const char* name_of(Method method) noexcept;

enum class Direction : std::uint8_t { Send, Receive };

/// Host messages with longer blocks on the average are left to the MPI library, which copies such
/// rows as fast: packing them took 1.0 to 2.4 times the library's time on an H200's host, except a
/// few KiB to 64 KiB of 1 KiB rows (0.85). [bytes]
inline constexpr std::int64_t kPackMaxMeanBlock = 512;

/// One message to be carried: everything a choice may depend on.
struct Message {
  Direction direction = Direction::Send;
  bool dense = false;  ///< the bytes lie side by side
  Place place;
  std::int64_t bytes = 0;
  std::int64_t blocks = 1;
  Spread spread = Spread::Near;
  bool nonblocking = false;  ///< needs an operation and a request of its own
  std::int64_t pitch = 0;    ///< as pitch_of()

  [[nodiscard]] std::int64_t mean_block() const noexcept {
    return blocks > 0 ? bytes / blocks : bytes;
  }
};

}  // namespace strake::machine
