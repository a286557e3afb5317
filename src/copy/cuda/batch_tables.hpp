/// \file  A batch as the tables that its kernel walks: copies, tiles, and what their layouts need.
/// No CUDA in here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "copy/batch_index.h"
#include "strake/copy.hpp"

namespace strake::cuda {

/// The tables of one batch. Cost: O(copies + tiles + metadata of the layouts).
class BatchTables {
 public:
  static constexpr int kWidestLog2 = 4;
  /// A tile is of 32 to 256 words: as large as keeps their number at `enough`, which is work for
  /// every warp of the device. `places` are those of the slots. No word has more than 1 <<
  /// `most_log2` bytes.
  /// \throws InvalidArgument  2^31 tiles or more
  BatchTables(int device, std::span<const Place> places, std::span<const CopyBatch::Copy> copies,
              std::int64_t enough, int most_log2 = kWidestLog2);
  ~BatchTables();

  [[nodiscard]] std::int64_t tiles() const noexcept {
    return static_cast<std::int64_t>(tiles_.size());
  }
  [[nodiscard]] int tile_log2() const noexcept { return tile_log2_; }
  /// The narrowest and the widest word of the copies. [log2 bytes]
  [[nodiscard]] int narrowest_log2() const noexcept { return narrowest_; }
  [[nodiscard]] int widest_log2() const noexcept { return widest_; }
  /// The most dims that a box has. Whether copies are carried out by STRAKE_WAY_ANY, and whether
  /// they have sides that are trees.
  [[nodiscard]] int box_dims() const noexcept { return box_dims_; }
  [[nodiscard]] bool has_any() const noexcept { return has_any_; }
  [[nodiscard]] bool has_trees() const noexcept { return has_trees_; }

  /// Bytes of the image.
  [[nodiscard]] std::int64_t image_bytes() const noexcept;
  /// Where the image's first tables lie.
  struct View {
    const strake_batch_copy* copies = nullptr;
    const strake_batch_tile* tiles = nullptr;
  };
  /// Writes all tables to `image` as they shall lie at `address`, for a reader there.
  View pack_image(std::byte* image, const std::byte* address) const;

 private:
  struct Irregular;  // the tables of a layout that is no box
  /// A layout at offset 0 by its hash, and the copy's word [log2 bytes]; -1: for 64-bit indices.
  using Key = std::tuple<std::uint64_t, std::uint64_t, int>;

  void add(const CopyBatch::Copy& copy);
  /// From dense to dense.
  void add_run(const CopyBatch::Copy& copy);
  /// All in words of this size.
  void add_words(const CopyBatch::Copy& copy, int word_log2);
  strake_side side_of(const Layout& layout, std::int32_t slot, int word_log2, bool wide);
  const Irregular& irregular(const Layout& layout, int word_log2, bool wide);
  void join_pairs();
  void cut_into_tiles(std::int64_t enough);

  int device_;
  int most_log2_;
  std::vector<Place> places_;
  std::int64_t parts_left_ = 0;  // that the copy at hand may still be made into
  std::vector<strake_batch_copy> copies_;
  std::vector<strake_batch_tile> tiles_;
  std::multimap<Key, std::unique_ptr<Irregular>> irregular_;
  std::vector<const Irregular*> sides_;  // of each copy: to, from; null: dense or a box
  std::int64_t irregular_bytes_ = 0;
  int tile_log2_ = 0;
  int narrowest_ = 0;
  int widest_ = 0;
  int box_dims_ = 0;
  bool has_any_ = false;
  bool has_trees_ = false;
};

}  // namespace strake::cuda
