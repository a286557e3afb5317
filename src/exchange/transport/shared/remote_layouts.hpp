/// \file  The layouts of messages that lie in other ranks' memory, and the copies that were
/// compiled for them: a layout is decoded once. Source: FALCON-X 4.3 (memoised layouts).
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exchange/transport/launch_batcher.hpp"
#include "strake/copy.hpp"
#include "strake/layout.hpp"
#include "strake/place.hpp"

namespace strake::exchange::shared {

/// A layout of another rank's, in memory that this one has mapped. One thread at a time.
class RemoteLayout {
 public:
  explicit RemoteLayout(Layout layout) : layout_(std::move(layout)) {}
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  /// The copy of this layout to `to`, of as many bytes; only as a whole, since it takes the bytes
  /// in what order suits the memories. Compiled at first use; ~20 ns then.
  /// \throws std::bad_alloc
  [[nodiscard]] const std::shared_ptr<const CopyPlan>& plan_to(const Layout& to);
  /// As plan_to(), where both layouts lie in `place`, a device's. \throws as compile_device_copy()
  [[nodiscard]] const DeviceCopy& device_copy_to(const Layout& to, Place place);
  /// The copy of this layout to packed bytes, also in parts. \throws as plan_to()
  [[nodiscard]] const CopyPlan& packing();
  /// The copy of this layout, in a device's memory, to packed bytes in pinned memory.
  /// \throws as compile_device_copy()
  [[nodiscard]] const DeviceCopy& device_packing(Place place);

 private:
  struct Compiled {
    Layout to;
    Place place;
    std::shared_ptr<const CopyPlan> plan;  ///< \{ either of the two
    DeviceCopy copy;                       ///< \}
  };
  struct Pair {
    Layout to;
    Layout from;
  };
  [[nodiscard]] Pair pair_with(const Layout& to) const;
  [[nodiscard]] Compiled& compiled_for(const Layout& to, Place place);
  Layout layout_;
  std::vector<Compiled> compiled_;
  std::optional<CopyPlan> packing_;
  std::vector<std::pair<Place, DeviceCopy>> device_packing_;
};

/// The remote layouts that were used last. One thread at a time.
class RemoteLayouts {
 public:
  /// `most` are kept; 0: each message's layout is decoded anew (the paper's naive form).
  explicit RemoteLayouts(std::size_t most) : most_(most) {}
  /// The layout with `hash`, which `words` encode in another process's memory.
  /// \throws InvalidArgument  they are no layout, or another one
  [[nodiscard]] std::shared_ptr<RemoteLayout> find(Hash128 hash,
                                                   std::span<const std::int64_t> words);
  /// As find() by hash, for a layout of this process.
  [[nodiscard]] std::shared_ptr<RemoteLayout> find(const Layout& layout);

 private:
  struct Kept {
    Hash128 hash;
    std::shared_ptr<RemoteLayout> layout;
  };
  [[nodiscard]] std::shared_ptr<RemoteLayout> kept(Hash128 hash);
  std::shared_ptr<RemoteLayout> keep(Hash128 hash, Layout layout);

  std::size_t most_;
  std::int64_t bytes_ = 0;  ///< of those that are kept, with what was compiled, about
  std::list<Kept> kept_;    ///< the last used first
  std::unordered_map<std::uint64_t, std::list<Kept>::iterator> by_hash_;
};

}  // namespace strake::exchange::shared
