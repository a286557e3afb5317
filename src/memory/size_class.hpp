/// \file  Sizes are rounded up to powers of two, so that few kinds of blocks serve all requests.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "strake/error.hpp"

namespace strake {

inline constexpr int kSizeClasses = 63;
/// Smaller requests share a class: 256 bytes, the alignment of device allocations.
inline constexpr int kSmallestClass = 8;

/// The log2 of the block that a request gets. \throws InvalidArgument  a negative size, or one past
/// 2^62.
[[nodiscard]] inline int size_class_of(std::int64_t bytes) {
  if (bytes < 0 || bytes > std::int64_t{1} << (kSizeClasses - 1)) {
    throw InvalidArgument(fmt::format("a block of {} bytes", bytes));
  }
  const int log2 = bytes <= 1 ? 0 : std::bit_width(static_cast<std::uint64_t>(bytes - 1));
  return std::max(log2, kSmallestClass);
}

[[nodiscard]] constexpr std::int64_t class_bytes(int size_class) noexcept {
  return std::int64_t{1} << size_class;
}

}  // namespace strake
