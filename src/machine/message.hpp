/// \file  One message, as far as the choice of its transport depends on it.
#pragma once

#include <cstdint>

#include "layout/traits.hpp"
#include "machine/transport.hpp"
#include "strake/place.hpp"

namespace strake::machine {

/// Whether this rank sends the message or receives it.
enum class MessageDirection : std::uint8_t { Send, Receive };

/// Host messages with longer blocks on the average are left to the MPI library, which copies such
/// rows as fast: packing them took 1.0 to 2.4 times the library's time on an H200's host, except a
/// few KiB to 64 KiB of 1 KiB rows (0.85). [bytes]
inline constexpr std::int64_t kPackMaxMeanBlock = 512;

/// One message to be carried: everything a choice may depend on.
struct Message {
  MessageDirection direction = MessageDirection::Send;
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
