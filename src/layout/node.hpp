/// \file  The inside of a Layout, and the builder of canonical nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "strake/layout.hpp"

namespace strake {

/// The node of a layout; its first byte in packed order is at 0.
struct STRAKE_LOCAL Layout::Node {
  Kind kind = Kind::Empty;
  std::int64_t size_bytes = 0;
  std::int64_t block_count = 0;
  std::int64_t block_bytes = 0;
  ByteRange bounds;
  Hash128 hash;
  std::vector<Dim> dims;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> positions;
  std::vector<Layout> parts;
};

[[noreturn]] void throw_too_far(std::int64_t a, std::int64_t b);

/// \throws InvalidArgument  past 2^63
inline std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) throw_too_far(a, b);
  return result;
}

/// A maximal range of adjacent bytes.
struct Run {
  std::int64_t offset = 0;
  std::int64_t length = 0;
  friend bool operator==(const Run&, const Run&) = default;
};

/// Ranges in packed order, adjacent ones joined: the same for all descriptions of the same bytes.
class RunList {
 public:
  void append(std::int64_t offset, std::int64_t length) {
    if (length == 0) return;
    const std::int64_t end = sum(offset, length);
    if (!runs_.empty() && end_ == offset) {
      runs_.back().length += length;
    } else {
      runs_.push_back({offset, length});
    }
    end_ = end;
  }
  void reserve(std::size_t runs) { runs_.reserve(runs); }
  void clear() noexcept { runs_.clear(); }
  [[nodiscard]] std::span<const Run> runs() const noexcept { return runs_; }

 private:
  std::vector<Run> runs_;
  std::int64_t end_ = 0;  ///< of the last
};

/// Makes nodes. Everything but a box goes through a RunList, so that the canonical form of
/// irregular bytes does not depend on how they were described; a box has a unique form of its own
/// (decision 1).
class LayoutBuilder {
 public:
  /// Past this many runs an irregular description is kept as it is instead of being flattened (64
  /// MiB of runs).
  static constexpr std::int64_t kMaxRuns = std::int64_t{1} << 22;

  static Layout box(std::int64_t offset, std::int64_t block_bytes, std::span<const Dim> dims);
  /// The canonical layout of a list of maximal runs. Cost: O(runs).
  static Layout compress(std::span<const Run> runs);
  /// Nodes as given; the callers guarantee that the form is canonical.
  static Layout listed(std::span<const Run> runs);
  static Layout repeat(const Layout& child, std::int64_t count, std::int64_t stride_bytes);
  static Layout sequence(std::vector<Layout> parts);
  /// Equal parts at a constant distance as copies of the first, or nothing. Needs one part at
  /// least, and none that is empty. Cost: O(parts).
  static std::optional<Layout> equal_parts(std::span<const Layout> parts);

 private:
  static Layout finish(std::int64_t offset, Layout::Node&& node);
};

/// All runs as one nest of dims, if they are one: its dims, outermost first, around blocks of
/// runs[0].length.
[[nodiscard]] std::optional<std::vector<Dim>> find_nest(std::span<const Run> runs);
/// The fewest runs p such that the list is n/p copies of its first p at constant distance, or 0.
[[nodiscard]] std::size_t find_period(std::span<const Run> runs);

}  // namespace strake
