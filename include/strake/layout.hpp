/// \file  Which bytes, in which order: an ordered set of byte ranges relative to a base address.
/// Sources: dissertation 5.2 (strided blocks), Jenkins 3.1 (trees of types), Tausch 2.4 (index
/// lists).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strake/api.hpp"

namespace strake {

/// A half-open range of bytes [begin, end).
struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  /// Every byte there is: an end past any size is cut to the size.
  static constexpr ByteRange all() noexcept { return {0, INT64_MAX}; }
  [[nodiscard]] constexpr std::int64_t size() const noexcept { return end - begin; }
  friend constexpr bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// One strided level of a box: `count` copies, `stride_bytes` apart (which may be zero or
/// negative).
struct Dim {
  std::int64_t count = 1;
  std::int64_t stride_bytes = 0;
  friend constexpr bool operator==(const Dim&, const Dim&) = default;
};

/// 128 bits of a layout's contents. Equal layouts have equal hashes; compare layouts where a
/// collision would matter.
struct Hash128 {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
  friend constexpr bool operator==(const Hash128&, const Hash128&) = default;
};

/// An ordered set of byte ranges in canonical form: layouts that select the same bytes in the same
/// order, however they were described, are equal and hash alike. A plain immutable value: copies
/// are cheap and may be shared by threads. The order of the bytes (the packed order) is that of the
/// description and is never changed.
class STRAKE_API Layout {
 public:
  enum class Kind : std::uint8_t {
    Empty,     ///< no bytes
    Box,       ///< blocks of one length, over zero or more strided dims
    Blocks,    ///< listed blocks, of one length or of their own lengths
    Repeat,    ///< an irregular child, at constant distance
    Sequence,  ///< parts, one after the other
  };

  /// No bytes.
  Layout() noexcept = default;
  /// `bytes` adjacent bytes at `offset`.
  /// \throws InvalidArgument  bytes < 0. Cost: O(1), as for `box`.
  static Layout dense(std::int64_t bytes, std::int64_t offset = 0);
  /// A nest of `dims` (outermost first) around blocks of `block_bytes`.
  /// \throws InvalidArgument  a negative count or block, or a size past 2^63.
  static Layout box(std::int64_t offset, std::int64_t block_bytes, std::span<const Dim> dims);
  /// Blocks of one length [bytes] at `offsets`, in that order. Cost: O(blocks).
  static Layout blocks(std::span<const std::int64_t> offsets, std::int64_t length);
  /// Block i has lengths[i] bytes at offsets[i]; zero lengths are skipped. Cost: O(blocks).
  /// \throws InvalidArgument  the spans' sizes differ, or a length is negative.
  static Layout blocks(std::span<const std::int64_t> offsets,
                       std::span<const std::int64_t> lengths);
  /// The bytes of each part, one part after the other. Cost: O(blocks of all parts) unless one box
  /// results.
  static Layout sequence(std::span<const Layout> parts);
  /// `count` copies, each `stride_bytes` after the one before. \throws InvalidArgument  count < 0.
  [[nodiscard]] Layout repeated(std::int64_t count, std::int64_t stride_bytes) const;
  /// This layout moved by `bytes` bytes. Cost: O(1).
  [[nodiscard]] Layout shifted(std::int64_t bytes) const;

  [[nodiscard]] Kind kind() const noexcept;
  /// Number of bytes selected; a byte that is selected twice counts twice. [bytes]
  [[nodiscard]] std::int64_t size_bytes() const noexcept;
  /// Number of blocks that for_each_block() visits.
  [[nodiscard]] std::int64_t block_count() const noexcept;
  /// Size of the description itself. [bytes]
  [[nodiscard]] std::int64_t metadata_bytes() const noexcept;
  /// Lowest byte selected, and one past the highest, relative to the base address ({0,0} when
  /// empty).
  [[nodiscard]] ByteRange bounds() const noexcept;
  /// Whether all bytes lie side by side in packed order.
  [[nodiscard]] bool is_dense() const noexcept;
  [[nodiscard]] Hash128 hash() const noexcept;
  friend STRAKE_API bool operator==(const Layout& a, const Layout& b) noexcept;

  /// Offset of the first byte in packed order (0 when empty). [bytes]
  [[nodiscard]] std::int64_t offset() const noexcept { return offset_; }
  /// Box: the block length; Blocks: the common length, or 0 where each block has its own. [bytes]
  [[nodiscard]] std::int64_t block_bytes() const noexcept;
  /// Box: its dims, outermost first; Repeat: its one dim.
  [[nodiscard]] std::span<const Dim> dims() const noexcept;
  /// Blocks: offset of each, relative to `offset()` (so the first is 0). [bytes]
  [[nodiscard]] std::span<const std::int64_t> block_offsets() const noexcept;
  /// Blocks with their own lengths: packed position where each begins, and at the end the size (n +
  /// 1 values). Empty if the length is common. [bytes]
  [[nodiscard]] std::span<const std::int64_t> block_positions() const noexcept;
  /// Repeat: the one child (at offset 0, relative to `offset()`); Sequence: the parts, relative to
  /// `offset()`.
  [[nodiscard]] std::span<const Layout> parts() const noexcept;

  /// Calls `visit(offset_bytes, length_bytes)` for each block of the form, in packed order. Offsets
  /// are relative to the base address. Neighbouring blocks of a box may touch.
  template <typename Visit>
  void for_each_block(Visit&& visit) const {
    walk(0, visit);
  }

  /// One line for people: `box(start 2019864, 24 B, 256 x 670720, 256 x 2560)`.
  [[nodiscard]] std::string to_string() const;

 private:
  struct Node;
  friend class LayoutBuilder;
  Layout(std::int64_t offset, std::shared_ptr<const Node> node) noexcept
      : offset_(offset), node_(std::move(node)) {}

  template <typename Visit>
  void walk(std::int64_t base, Visit& visit) const {
    const std::int64_t at = base + offset_;
    switch (kind()) {
      case Kind::Empty:
        return;
      case Kind::Box:
        walk_box(at, dims(), block_bytes(), visit);
        return;
      case Kind::Blocks: {
        const auto offsets = block_offsets();
        const auto positions = block_positions();
        for (std::size_t i = 0; i < offsets.size(); ++i) {
          visit(at + offsets[i],
                positions.empty() ? block_bytes() : positions[i + 1] - positions[i]);
        }
        return;
      }
      case Kind::Repeat: {
        const Dim dim = dims()[0];
        for (std::int64_t i = 0; i < dim.count; ++i)
          parts()[0].walk(at + i * dim.stride_bytes, visit);
        return;
      }
      case Kind::Sequence:
        for (const Layout& part : parts()) part.walk(at, visit);
        return;
    }
  }
  template <typename Visit>
  static void walk_box(std::int64_t at, std::span<const Dim> dims, std::int64_t block,
                       Visit& visit) {
    if (dims.empty()) {
      visit(at, block);
      return;
    }
    for (std::int64_t i = 0; i < dims[0].count; ++i) {
      walk_box(at + i * dims[0].stride_bytes, dims.subspan(1), block, visit);
    }
  }

  std::int64_t offset_ = 0;
  std::shared_ptr<const Node> node_;
};

}  // namespace strake
