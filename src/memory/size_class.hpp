/// \file  Sizes are rounded up, to powers of two up to 4 MiB and to quarters of them beyond, so
/// that few kinds of blocks serve all requests.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "strake/error.hpp"

namespace strake {

/// Smaller requests share a class: 256 bytes, the alignment of device allocations.
inline constexpr int kSmallestClass = 8;
/// Up to here a class is the log2 of its blocks; from here on each power of two has four classes.
inline constexpr int kLargestWholeClass = 22;
inline constexpr int kLargestLog2 = 62;
inline constexpr int kSizeClasses =
    kLargestWholeClass + 1 + 4 * (kLargestLog2 - kLargestWholeClass);

/// \throws InvalidArgument  a negative size, or one past 2^62.
[[nodiscard]] inline int size_class_of(std::int64_t bytes) {
  if (bytes < 0 || bytes > std::int64_t{1} << kLargestLog2) {
    throw InvalidArgument(fmt::format("a block can't have {} bytes", bytes));
  }
  const int log2 = bytes <= 1 ? 0 : std::bit_width(static_cast<std::uint64_t>(bytes - 1));
  if (log2 <= kLargestWholeClass) return std::max(log2, kSmallestClass);
  const std::int64_t past = bytes - 1 - (std::int64_t{1} << (log2 - 1));
  return kLargestWholeClass + 1 + 4 * (log2 - kLargestWholeClass - 1) +
         static_cast<int>(past >> (log2 - 3));
}

[[nodiscard]] constexpr std::int64_t class_bytes(int size_class) noexcept {
  if (size_class <= kLargestWholeClass) return std::int64_t{1} << size_class;
  const int past = size_class - kLargestWholeClass - 1;
  return std::int64_t{5 + past % 4} << (kLargestWholeClass - 2 + past / 4);
}

}  // namespace strake
