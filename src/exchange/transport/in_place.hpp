/// \file  Whether another processor should read bytes where they lie, instead of packed ones.
#pragma once

#include <cstdint>

#include "strake/layout.hpp"

namespace strake::exchange {

/// Whether reading in place pays. The reader fetches whole lines from the owner's cache, as slowly
/// as from memory: for short blocks many more lines than the packed bytes have, which costs more
/// than packing in the own cache saves. Bytes that exceed that cache are fetched from afar by
/// either side. Measured on an H100's host (2 MiB of second-level cache): 8 ranks, 64^3, 4096
/// blocks of 8 B 1.1 times the MPI library's speed when read in place, 1.7 when packed; 128^3,
/// 16384 blocks of 24 B 2.0 and 1.6. On an H200's host blocks of 8 B lost in place at any size:
/// 128^3 1.2 and 1.6, 256^3 1.5 and 1.8.
[[nodiscard]] inline bool worth_reading_in_place(const Layout& layout) noexcept {
  constexpr std::int64_t kLine = 64;
  constexpr std::int64_t kMuch = std::int64_t{1} << 20;
  constexpr std::int64_t kMostRatio = 4;
  const std::int64_t bytes = layout.size_bytes();
  const std::int64_t fetched = bytes + layout.block_count() * kLine;
  return fetched <= 2 * bytes || (fetched >= kMuch && fetched <= kMostRatio * bytes);
}

}  // namespace strake::exchange
