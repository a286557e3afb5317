/// \file  Whether the lines that a copy writes in part are fetched first.
#pragma once

#include <cstdint>

namespace strake::cuda {

// Device memory is fetched by 64 bytes and written by 32. Where a run writes both halves of many
// lines in part, fetching the lines first saves time (lists of 8 to 128 bytes 10 %, a face of 24
// bytes 2 of 5.4 us, H200); where it writes parts of one half, that would fetch twice the bytes.
inline constexpr std::int64_t kLineBytes = 64;
inline constexpr std::int64_t kSectorBytes = 32;

/// A box of device memory is written: whether all its distances are whole sectors, and where its
/// first byte lies.
constexpr bool fetches_box_lines(std::int64_t block_bytes, bool whole_sectors,
                                 std::uint64_t first) {
  if (block_bytes <= kSectorBytes / 2 || block_bytes >= kLineBytes) return false;
  // Where they are not, blocks lie anywhere in the lines: most have bytes in both halves of one.
  return !whole_sectors ||
         static_cast<std::int64_t>(first % kSectorBytes) + block_bytes > kSectorBytes;
}

/// A list of blocks of device memory is written.
constexpr bool fetches_list_lines(std::int64_t size_bytes, std::int64_t blocks) {
  // Blocks of several lines write most of their lines whole.
  return size_bytes > blocks * kSectorBytes / 2 && size_bytes < blocks * 4 * kLineBytes;
}

}  // namespace strake::cuda
