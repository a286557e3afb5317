#include "copy/cuda/batch_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "copy/cuda/batch_pairs.hpp"
#include "copy/cuda/batch_parts.hpp"
#include "copy/cuda/lines.hpp"
#include "copy/cuda/ranks.hpp"
#include "copy/cuda/tables.hpp"
#include "strake/error.hpp"

namespace strake::cuda {
namespace {

constexpr std::int64_t kNarrowWords = std::numeric_limits<std::int32_t>::max();
constexpr int kSmallestTileLog2 = 5;  // a word for each lane of a warp
constexpr int kLargestTileLog2 = 8;
constexpr std::int64_t kMostParts = 256;  // that one copy is made into

template <typename Value>
std::int64_t section(std::size_t count) {
  return section_bytes(count, sizeof(Value));
}

int log2_of(std::int64_t offset) { return widest_word_log2(static_cast<std::uint64_t>(offset)); }

/// For a target in the device's own memory.
bool fetches_lines(const Layout& to) {
  if (to.kind() == Layout::Kind::Blocks)
    return fetches_list_lines(to.size_bytes(),
                              static_cast<std::int64_t>(to.block_offsets().size()));
  if (to.kind() != Layout::Kind::Box || to.is_dense()) return false;
  const bool whole_sectors = std::ranges::all_of(
      to.dims(), [](const Dim& dim) { return dim.stride_bytes % kSectorBytes == 0; });
  // A base address is most often a whole sector's.
  return fetches_box_lines(to.block_bytes(), whole_sectors,
                           static_cast<std::uint64_t>(to.offset()));
}

/// Whether its words can be found with 32-bit indices and dims as of strake_side.
bool fits_box(const Layout& layout, int word_log2) {
  const auto dims = layout.dims();
  if (layout.kind() != Layout::Kind::Box || dims.size() > STRAKE_BOX_DIMS) return false;
  // All sums of distances that can occur are within this one.
  std::int64_t span = layout.block_bytes() >> word_log2;
  for (const Dim& dim : dims) {
    if (dim.count > kNarrowWords) return false;
    const std::int64_t stride = std::abs(dim.stride_bytes >> word_log2);
    if (stride > kNarrowWords) return false;
    span += (dim.count - 1) * stride;
    if (span > kNarrowWords) return false;
  }
  return true;
}

void fill_box(strake_side& side, const Layout& layout, int word_log2) {
  const auto dims = layout.dims();
  side.kind = STRAKE_SIDE_BOX;
  side.block = strake_make_div32(static_cast<strake_u32>(layout.block_bytes() >> word_log2));
  for (strake_div32& count : side.count) count = strake_make_div32(strake_u32{1} << 31);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const Dim& dim = dims[dims.size() - 1 - i];
    side.stride[i] = static_cast<strake_i32>(dim.stride_bytes >> word_log2);
    if (i + 1 < dims.size()) side.count[i] = strake_make_div32(static_cast<strake_u32>(dim.count));
  }
}

bool same_shape(const Layout& a, const Layout& b) {
  const auto same_count = [](const Dim& x, const Dim& y) { return x.count == y.count; };
  return a.block_bytes() == b.block_bytes() && std::ranges::equal(a.dims(), b.dims(), same_count);
}

strake_batch_way way_of(const Layout& to, const strake_side& to_side, const Layout& from,
                        const strake_side& from_side) {
  const bool to_dense = to_side.kind == STRAKE_SIDE_DENSE;
  const bool from_dense = from_side.kind == STRAKE_SIDE_DENSE;
  const bool to_box = to_side.kind == STRAKE_SIDE_BOX;
  const bool from_box = from_side.kind == STRAKE_SIDE_BOX;
  if (to_dense && from_dense) return STRAKE_WAY_RUN;
  if (to_dense && from_box) return STRAKE_WAY_PACK;
  if (to_box && from_dense) return STRAKE_WAY_UNPACK;
  if (to_box && from_box && same_shape(to, from)) return STRAKE_WAY_BOXES;
  return STRAKE_WAY_ANY;
}

/// Where a tile of a copy begins, as (slot, byte), on the side that is scattered; of two, the one
/// that is written. A list, or a tree, counts as one place.
std::pair<std::int32_t, std::int64_t> begin_of_tile(const strake_batch_copy& copy,
                                                    std::int64_t first_word) {
  const strake_side& side = copy.to.kind == STRAKE_SIDE_DENSE ? copy.from : copy.to;
  std::int64_t words = 0;
  if (side.kind == STRAKE_SIDE_DENSE) words = first_word;
  if (side.kind == STRAKE_SIDE_BOX)
    words = strake_box_words(&side.block, side.count, side.stride, STRAKE_BOX_DIMS,
                             static_cast<strake_u32>(first_word));
  return {side.slot, side.offset + words * (std::int64_t{1} << copy.word_log2)};
}

}  // namespace

struct BatchTables::Irregular {
  Layout layout;  // to compare with
  std::optional<RankedTable> ranked;
  std::optional<Tables> tree;
  std::int64_t at = 0;  // of the image's part for these tables

  [[nodiscard]] std::int64_t image_bytes() const {
    if (ranked)
      return section<Rank>(ranked->ranks.size()) + section<strake_i32>(ranked->deltas.size());
    return section<strake_rooted_tree>(1) + tree->image_bytes();
  }
};

BatchTables::~BatchTables() = default;

BatchTables::BatchTables(int device, std::span<const Place> places,
                         std::span<const CopyBatch::Copy> copies, std::int64_t enough,
                         int most_log2)
    : device_(device), most_log2_(most_log2), places_(places.begin(), places.end()) {
  copies_.reserve(copies.size());
  for (const CopyBatch::Copy& copy : copies) {
    parts_left_ = kMostParts;
    add(copy);
  }
  join_pairs();
  for (const auto& [key, tables] : irregular_) {
    tables->at = irregular_bytes_;
    irregular_bytes_ += tables->image_bytes();
  }
  cut_into_tiles(enough);
}

void BatchTables::add(const CopyBatch::Copy& copy) {
  if (copy.to.size_bytes() == 0) return;
  if (copy.to.is_dense() && copy.from.is_dense()) return add_run(copy);
  const auto parts = parts_of(copy, parts_left_);
  parts_left_ -= static_cast<std::int64_t>(parts.size());
  for (const CopyBatch::Copy& part : parts) add(part);
  if (!parts.empty()) return;
  int log2 = std::min({log2_of(copy.to.offset()), log2_of(copy.from.offset()), most_log2_});
  for (const Layout* const layout : {&copy.to, &copy.from}) {
    if (!layout->is_dense()) log2 = std::min(log2, Tables(*layout).word_log2());
  }
  add_words(copy, log2);
}

void BatchTables::add_run(const CopyBatch::Copy& copy) {
  // Words where both runs are aligned, and single bytes at their ends.
  const std::int64_t bytes = copy.to.size_bytes();
  const int log2 = std::min(log2_of(copy.to.offset() - copy.from.offset()), most_log2_);
  const std::int64_t word = std::int64_t{1} << log2;
  const std::int64_t head = std::min(bytes, -copy.to.offset() & (word - 1));
  const std::int64_t body = (bytes - head) & ~(word - 1);
  const auto add_part = [&](std::int64_t begin, std::int64_t length, int word_log2) {
    if (length == 0) return;
    add_words({Layout::dense(length, copy.to.offset() + begin), copy.to_slot,
               Layout::dense(length, copy.from.offset() + begin), copy.from_slot},
              word_log2);
  };
  add_part(0, head, 0);
  add_part(head, body, log2);
  add_part(head + body, bytes - head - body, 0);
}

void BatchTables::add_words(const CopyBatch::Copy& given, int word_log2) {
  const auto& [to, to_slot, from, from_slot] = given;
  narrowest_ = copies_.empty() ? word_log2 : std::min(narrowest_, word_log2);
  widest_ = std::max(widest_, word_log2);
  strake_batch_copy copy{};
  copy.words = to.size_bytes() >> word_log2;
  copy.word_log2 = word_log2;
  const bool wide = copy.words > kNarrowWords;
  copy.to = side_of(to, to_slot, word_log2, wide);
  copy.from = side_of(from, from_slot, word_log2, wide);
  copy.way = way_of(to, copy.to, from, copy.from);
  const Place own{MemoryKind::Device, device_};
  // Not between boxes, whose own fetches keep the memory busy: it took 15 % longer.
  copy.prefetch = copy.way != STRAKE_WAY_BOXES &&
                  places_[static_cast<std::size_t>(to_slot)] == own && fetches_lines(to);
  for (const Layout* const layout : {&to, &from}) {
    if (layout->kind() == Layout::Kind::Box)
      box_dims_ = std::max(box_dims_, static_cast<int>(layout->dims().size()));
  }
  has_any_ = has_any_ || copy.way == STRAKE_WAY_ANY;
  copies_.push_back(copy);
}

strake_side BatchTables::side_of(const Layout& layout, std::int32_t slot, int word_log2,
                                 bool wide) {
  strake_side side{};
  side.offset = layout.offset();
  side.slot = slot;
  const Irregular* tables = nullptr;
  if (layout.is_dense()) {
    side.kind = STRAKE_SIDE_DENSE;
  } else if (!wide && fits_box(layout, word_log2)) {
    fill_box(side, layout, word_log2);
  } else {
    tables = &irregular(layout.shifted(-layout.offset()), word_log2, wide);
    side.kind = tables->ranked ? STRAKE_SIDE_RANKED : STRAKE_SIDE_TREE;
    has_trees_ = has_trees_ || !tables->ranked;
  }
  sides_.push_back(tables);
  return side;
}

const BatchTables::Irregular& BatchTables::irregular(const Layout& layout, int word_log2,
                                                     bool wide) {
  const Hash128 hash = layout.hash();
  const Key key{hash.lo, hash.hi, wide ? -1 : word_log2};
  const auto [begin, end] = irregular_.equal_range(key);
  for (auto found = begin; found != end; ++found) {
    if (found->second->layout == layout) return *found->second;
  }
  auto made = std::make_unique<Irregular>();
  made->layout = layout;
  if (layout.kind() == Layout::Kind::Blocks && !wide)
    made->ranked = RankedTable::make(layout, word_log2);
  if (!made->ranked) made->tree.emplace(layout);
  return *irregular_.emplace(key, std::move(made))->second;
}

void BatchTables::join_pairs() {
  PairedCopies paired = pair_copies(copies_);
  if (paired.copies.size() == copies_.size()) return;
  std::vector<const Irregular*> sides;
  for (const std::size_t origin : paired.origins) {
    sides.push_back(sides_[2 * origin]);
    sides.push_back(sides_[2 * origin + 1]);
  }
  copies_ = std::move(paired.copies);
  sides_ = std::move(sides);
  box_dims_ = std::min(box_dims_ + 1, STRAKE_BOX_DIMS);
}

void BatchTables::cut_into_tiles(std::int64_t enough) {
  const auto count = [&](int log2) {
    std::int64_t tiles = 0;
    for (const strake_batch_copy& copy : copies_)
      tiles += (copy.words + (std::int64_t{1} << log2) - 1) >> log2;
    return tiles;
  };
  tile_log2_ = kSmallestTileLog2;
  while (tile_log2_ < kLargestTileLog2 && count(tile_log2_ + 1) >= enough) ++tile_log2_;
  const std::int64_t tiles = count(tile_log2_);
  if (tiles > kNarrowWords) {
    throw InvalidArgument(fmt::format("a batch of {} tiles of {} words: at most {} are possible",
                                      tiles, std::int64_t{1} << tile_log2_, kNarrowWords));
  }
  // In the order of addresses: what lies close together, such as the end of a row and the begin of
  // the next, which two neighbours get, is moved at about the same time, and opens a page of the
  // memory once.
  struct Placed {
    std::pair<std::int32_t, std::int64_t> begin;
    strake_batch_tile tile;
  };
  std::vector<Placed> placed;
  placed.reserve(static_cast<std::size_t>(tiles));
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const std::int64_t own = (copies_[i].words + (std::int64_t{1} << tile_log2_) - 1) >> tile_log2_;
    for (std::int64_t tile = 0; tile < own; ++tile) {
      placed.push_back({begin_of_tile(copies_[i], tile << tile_log2_),
                        {static_cast<strake_u32>(i), static_cast<strake_u32>(tile)}});
    }
  }
  std::ranges::stable_sort(placed, {}, &Placed::begin);
  tiles_.reserve(placed.size());
  for (const Placed& one : placed) tiles_.push_back(one.tile);
}

std::int64_t BatchTables::image_bytes() const noexcept {
  return section<strake_batch_copy>(copies_.size()) + section<strake_batch_tile>(tiles_.size()) +
         irregular_bytes_;
}

BatchTables::View BatchTables::pack_image(std::byte* image, const std::byte* address) const {
  const std::int64_t tiles_at = section<strake_batch_copy>(copies_.size());
  const std::int64_t irregular_at = tiles_at + section<strake_batch_tile>(tiles_.size());
  const auto write = [&](std::int64_t at, const auto& table) {
    using Value = typename std::remove_cvref_t<decltype(table)>::value_type;
    if (!table.empty()) std::memcpy(image + at, table.data(), table.size() * sizeof(Value));
    return reinterpret_cast<const Value*>(address + at);
  };
  for (const auto& [key, tables] : irregular_) {
    const std::int64_t at = irregular_at + tables->at;
    if (tables->ranked) {
      (void)write(at, tables->ranked->ranks);
      (void)write(at + section<Rank>(tables->ranked->ranks.size()), tables->ranked->deltas);
    } else {
      const std::int64_t tree_at = at + section<strake_rooted_tree>(1);
      const strake_rooted_tree rooted = {
          tables->tree->root(), tables->tree->pack_image(image + tree_at, address + tree_at)};
      std::memcpy(image + at, &rooted, sizeof(rooted));
    }
  }
  std::vector<strake_batch_copy> copies = copies_;
  for (std::size_t i = 0; i < sides_.size(); ++i) {
    const Irregular* const tables = sides_[i];
    if (tables == nullptr) continue;
    strake_side& side = i % 2 == 0 ? copies[i / 2].to : copies[i / 2].from;
    const std::byte* const at = address + irregular_at + tables->at;
    if (tables->ranked) {
      side.ranks = reinterpret_cast<const strake_rank*>(at);
      side.deltas =
          reinterpret_cast<const strake_i32*>(at + section<Rank>(tables->ranked->ranks.size()));
    } else {
      side.rooted = reinterpret_cast<const strake_rooted_tree*>(at);
    }
  }
  return {write(0, copies), write(tiles_at, tiles_)};
}

}  // namespace strake::cuda
