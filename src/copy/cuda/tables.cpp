#include "copy/cuda/tables.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace strake::cuda {
namespace {

constexpr std::int64_t kNarrowMax = std::numeric_limits<strake_i32>::max();

}  // namespace

Tables::Tables(const Layout& layout) : size_(layout.size_bytes()) {
  nodes_.resize(1);
  fill(0, layout);
}

void Tables::require_aligned(std::int64_t bytes) noexcept {
  word_log2_ = std::min(word_log2_, widest_word_log2(static_cast<std::uint64_t>(bytes)));
}

void Tables::fill(std::size_t index, const Layout& layout) {
  strake_node node{};
  node.offset = layout.offset();
  // The root's own offset is judged with the base address, when the plan runs.
  if (index != 0) require_aligned(node.offset);
  switch (layout.kind()) {
    case Layout::Kind::Empty:
      node.kind = STRAKE_BOX;
      node.unit = strake_make_div64(1);
      break;
    case Layout::Kind::Box:
      fill_box(node, layout);
      break;
    case Layout::Kind::Blocks:
      fill_blocks(node, layout);
      if (index == 0) {
        listed_blocks_ = static_cast<std::int64_t>(layout.block_offsets().size());
        const auto positions = layout.block_positions();
        shortest_block_ = positions.empty() ? layout.block_bytes() : positions[1] - positions[0];
        for (std::size_t i = 1; i < positions.size(); ++i) {
          shortest_block_ = std::min(shortest_block_, positions[i] - positions[i - 1]);
        }
      }
      break;
    case Layout::Kind::Repeat: {
      const Layout& child = layout.parts()[0];
      node.kind = STRAKE_REPEAT;
      node.unit = strake_make_div64(static_cast<std::uint64_t>(child.size_bytes()));
      node.stride = layout.dims()[0].stride_bytes;
      require_aligned(node.stride);
      node.first = static_cast<strake_i32>(nodes_.size());
      nodes_.emplace_back();
      fill(static_cast<std::size_t>(node.first), child);
      break;
    }
    case Layout::Kind::Sequence: {
      const auto parts = layout.parts();
      node.kind = STRAKE_SEQUENCE;
      node.count = static_cast<strake_i32>(parts.size());
      node.first = static_cast<strake_i32>(nodes_.size());
      node.positions = static_cast<strake_i64>(wide_.size());
      nodes_.resize(nodes_.size() + parts.size());
      std::int64_t position = 0;
      for (const Layout& part : parts) {
        wide_.push_back(position);
        position += part.size_bytes();
      }
      wide_.push_back(position);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        fill(static_cast<std::size_t>(node.first) + i, parts[i]);
      }
      break;
    }
  }
  nodes_[index] = node;
}

void Tables::fill_box(strake_node& node, const Layout& layout) {
  node.kind = STRAKE_BOX;
  node.unit = strake_make_div64(static_cast<std::uint64_t>(layout.block_bytes()));
  node.first = static_cast<strake_i32>(levels_.size());
  const auto dims = layout.dims();
  node.count = static_cast<strake_i32>(dims.size());
  require_aligned(layout.block_bytes());
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    levels_.push_back(
        {strake_make_div64(static_cast<std::uint64_t>(dim->count)), dim->stride_bytes});
    require_aligned(dim->stride_bytes);
  }
}

void Tables::fill_blocks(strake_node& node, const Layout& layout) {
  const auto offsets = layout.block_offsets();
  const auto positions = layout.block_positions();
  const bool listed = !positions.empty();
  node.kind = listed ? STRAKE_LISTED : STRAKE_BLOCKS;

  // One OR of all values has the trailing zeros of their common power of two.
  std::uint64_t bits = 0;
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  for (const std::int64_t offset : offsets) {
    bits |= static_cast<std::uint64_t>(offset);
    lowest = std::min(lowest, offset);
    highest = std::max(highest, offset);
  }
  node.shift = bits == 0 ? 0 : std::countr_zero(bits);
  const std::int64_t size = listed ? positions.back() : 0;
  const auto count = static_cast<std::int64_t>(offsets.size());
  node.wide = (highest >> node.shift) > kNarrowMax || (lowest >> node.shift) < -kNarrowMax ||
              size > std::numeric_limits<strake_u32>::max() || count > kNarrowMax;

  const auto append = [&](auto& table, auto transform, auto values) {
    const auto begin = static_cast<strake_i64>(table.size());
    using Value = typename std::remove_reference_t<decltype(table)>::value_type;
    for (const std::int64_t value : values) table.push_back(static_cast<Value>(transform(value)));
    return begin;
  };
  const auto same = [](std::int64_t value) { return value; };
  const auto scaled = [&](std::int64_t value) { return value >> node.shift; };
  node.offsets = node.wide ? append(wide_, same, offsets) : append(narrow_, scaled, offsets);

  require_aligned(static_cast<std::int64_t>(bits));
  if (!listed) {
    node.unit = strake_make_div64(static_cast<std::uint64_t>(layout.block_bytes()));
    require_aligned(layout.block_bytes());
    return;
  }
  node.unit = strake_make_div64(1);
  for (const std::int64_t position : positions) require_aligned(position);
  node.positions = node.wide ? append(wide_, same, positions) : append(narrow_, same, positions);
  std::vector<std::int64_t> tiles;
  std::int64_t block = 0;
  for (std::int64_t p = 0; p < size; p += std::int64_t{1} << STRAKE_TILE_LOG2) {
    while (positions[static_cast<std::size_t>(block) + 1] <= p) ++block;
    tiles.push_back(block);
  }
  tiles.push_back(count - 1);
  node.tiles = node.wide ? append(wide_, same, tiles) : append(narrow_, same, tiles);
}

std::int64_t Tables::block_at(std::int64_t p) const noexcept {
  const strake_node& node = root();
  if (node.kind == STRAKE_BLOCKS) {
    return static_cast<std::int64_t>(strake_quot64(node.unit, static_cast<strake_u64>(p)));
  }
  return node.wide ? strake_search64(wide_.data() + node.positions, 0, listed_blocks_ - 1, p)
                   : strake_search32(narrow_.data() + node.positions, 0, listed_blocks_ - 1, p);
}

std::int64_t Tables::image_bytes() const noexcept {
  return section_bytes(nodes_.size(), sizeof(strake_node)) +
         section_bytes(levels_.size(), sizeof(strake_level)) +
         section_bytes(wide_.size(), sizeof(strake_i64)) +
         section_bytes(narrow_.size(), sizeof(strake_i32));
}

strake_tree Tables::pack_image(std::byte* image, const std::byte* address) const {
  std::int64_t at = 0;
  const auto put = [&](const auto& table) {
    using Value = typename std::remove_reference_t<decltype(table)>::value_type;
    if (!table.empty()) std::memcpy(image + at, table.data(), table.size() * sizeof(Value));
    const auto* where = reinterpret_cast<const Value*>(address + at);
    at += section_bytes(table.size(), sizeof(Value));
    return where;
  };
  strake_tree tree{};
  tree.nodes = put(nodes_);
  tree.levels = put(levels_);
  tree.wide = put(wide_);
  tree.narrow = put(narrow_);
  return tree;
}

}  // namespace strake::cuda
