/// \file  Bytes that a copy must move at least, and how long a memcpy of as many takes: the bound
/// of a pack or unpack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/sampling.hpp"

namespace bench {

/// Bytes [offset, offset + bytes) of a buffer.
struct Block {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

/// Cache lines are 64 bytes on every x86-64 and nearly every AArch64 processor.
inline constexpr std::int64_t kLineBytes = 64;

/// The lines that blocks of a line-aligned buffer touch.
struct Traffic {
  std::int64_t line_bytes = kLineBytes;
  std::int64_t payload_bytes = 0;
  std::int64_t lines = 0;       ///< distinct lines touched
  std::int64_t full_lines = 0;  ///< of those, lines whose every byte is selected

  /// Every distinct byte that the copy brings into a cache: the lines, and the dense side.
  [[nodiscard]] std::int64_t footprint_bytes() const { return line_bytes * lines + payload_bytes; }
  /// Read every line, write the dense bytes.
  [[nodiscard]] std::int64_t pack_bytes() const { return line_bytes * lines + payload_bytes; }
  /// Read the dense bytes, write the full lines, read and write the partial ones.
  [[nodiscard]] std::int64_t unpack_bytes() const {
    return payload_bytes + line_bytes * (full_lines + 2 * (lines - full_lines));
  }
};

/// Cost: O(blocks + lines spanned).
Traffic traffic_of(std::span<const Block> blocks, std::int64_t buffer_bytes,
                   std::int64_t line_bytes = kLineBytes);
/// \param layout  a strake::Layout whose bytes begin at 0 or behind
template <typename Layout>
Traffic traffic_of_layout(const Layout& layout, std::int64_t line_bytes = kLineBytes) {
  std::vector<Block> blocks;
  layout.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
    blocks.push_back({offset, bytes});
  });
  return traffic_of(blocks, layout.bounds().end, line_bytes);
}

/// Median time of a memcpy that reads half of `footprint_bytes` and writes the other half, repeated
/// on the same memory. [seconds]
double memcpy_seconds(std::int64_t footprint_bytes, const Budget& budget);

/// Median time to read, or to write, one byte of every line that the blocks touch, in their order:
/// every copy of these addresses in this order takes at least that. The lines come from a list of 4
/// bytes a line. [seconds]
double touch_seconds(std::span<const Block> blocks, std::byte* buffer, bool write,
                     const Budget& budget);

}  // namespace bench
