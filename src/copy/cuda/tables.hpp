/// \file  A layout as the flat tables that kernels (and the host's staging loop) walk. No CUDA in
/// here.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "copy/index.h"
#include "strake/layout.hpp"

namespace strake::cuda {

/// Log2 of the widest word that a kernel moves: 16 bytes.
inline constexpr int kMaxWordLog2 = 4;

/// Log2 of the widest word that an address, or what is OR-ed of several, is a multiple of.
[[nodiscard]] constexpr int widest_word_log2(std::uint64_t address) noexcept {
  return std::min(kMaxWordLog2, std::countr_zero(address));
}

/// Sections of an image in device memory begin where any of the tables' types may lie. The bytes
/// that one takes.
[[nodiscard]] constexpr std::int64_t section_bytes(std::size_t count, std::size_t bytes) noexcept {
  constexpr std::int64_t kAlign = 16;
  return (static_cast<std::int64_t>(count * bytes) + kAlign - 1) / kAlign * kAlign;
}

/// The tables of one layout in host memory. Plain value. Cost: O(metadata of the layout).
class Tables {
 public:
  explicit Tables(const Layout& layout);

  [[nodiscard]] const strake_node& root() const noexcept { return nodes_.front(); }
  [[nodiscard]] strake_tree view() const noexcept {
    return {nodes_.data(), levels_.data(), narrow_.data(), wide_.data()};
  }
  /// The largest power of two (as log2, at most kMaxWordLog2) that divides every block and every
  /// distance between blocks.
  [[nodiscard]] int word_log2() const noexcept { return word_log2_; }
  [[nodiscard]] std::int64_t size_bytes() const noexcept { return size_; }
  /// A list of blocks: how many, and the shortest. Else 0.
  [[nodiscard]] std::int64_t listed_blocks() const noexcept { return listed_blocks_; }
  [[nodiscard]] std::int64_t shortest_block() const noexcept { return shortest_block_; }
  /// A list of blocks: the block that holds packed byte p.
  [[nodiscard]] std::int64_t block_at(std::int64_t p) const noexcept;
  /// Whether the layout is one run of bytes.
  [[nodiscard]] bool dense() const noexcept {
    return root().kind == STRAKE_BOX && root().count == 0;
  }

  /// Bytes of the image that `pack_image` writes.
  [[nodiscard]] std::int64_t image_bytes() const noexcept;
  /// Writes all tables to `image` as they shall lie at `address`, and gives the view of a reader
  /// there.
  strake_tree pack_image(std::byte* image, const std::byte* address) const;

  /// Calls visit(packed, offset, length) for each run of bytes of the packed range [begin, end), in
  /// order.
  template <typename Visit>
  void for_each_run(std::int64_t begin, std::int64_t end, Visit&& visit) const {
    const strake_tree tree = view();
    for (std::int64_t p = begin; p < end;) {
      const strake_spot spot = strake_locate(&root(), tree, p);
      const std::int64_t length = spot.left < end - p ? spot.left : end - p;
      visit(p, spot.offset, length);
      p += length;
    }
  }

 private:
  void fill(std::size_t index, const Layout& layout);
  void fill_box(strake_node& node, const Layout& layout);
  void fill_blocks(strake_node& node, const Layout& layout);
  void require_aligned(std::int64_t bytes) noexcept;

  std::vector<strake_node> nodes_;
  std::vector<strake_level> levels_;
  std::vector<strake_i32> narrow_;
  std::vector<strake_i64> wide_;
  std::int64_t size_ = 0;
  std::int64_t listed_blocks_ = 0;
  std::int64_t shortest_block_ = 0;
  int word_log2_ = kMaxWordLog2;
};

}  // namespace strake::cuda
