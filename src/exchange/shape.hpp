/// \file  `count` elements of one datatype, ready to be packed: the layout, and the plans compiled
/// for it so far.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "exchange/method.hpp"
#include "strake/copy.hpp"
#include "strake/layout.hpp"

namespace strake::exchange {

/// Immutable but for its plans, which are added under a lock and never removed: threads share one
/// shape.
class Shape : public std::enable_shared_from_this<Shape> {
 public:
  explicit Shape(Layout layout)
      : layout_(std::move(layout)), spread_(spread_of(layout_)), pitch_(pitch_of(layout_)) {}

  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] std::int64_t size_bytes() const noexcept { return layout_.size_bytes(); }
  [[nodiscard]] std::int64_t block_count() const noexcept { return layout_.block_count(); }
  [[nodiscard]] bool dense() const noexcept { return layout_.is_dense(); }
  [[nodiscard]] Spread spread() const noexcept { return spread_; }
  [[nodiscard]] std::int64_t pitch() const noexcept { return pitch_; }

  /// Send: layout at `typed` → dense at `packed`; Receive: the other way. Compiled at first use,
  /// then ~2 ns for host memory. \throws Unsupported, OutOfMemory, CudaError
  const CopyPlan& plan(Direction direction, Place typed, Place packed);

  /// What a summary may say of this shape: the time of the system's own pack, sampled once.
  struct Sample {
    static constexpr std::int64_t kNone = INT64_MIN;
    std::atomic<std::int64_t> saved_ns{kNone};  ///< the system's time less ours
  };
  [[nodiscard]] Sample& sample() noexcept { return sample_; }

 private:
  struct Compiled {
    Direction direction;
    Place typed;
    Place packed;
    std::unique_ptr<const CopyPlan> plan;
  };

  Layout layout_;
  Spread spread_;
  std::int64_t pitch_;
  std::atomic<const CopyPlan*> host_[2] = {nullptr, nullptr};
  std::mutex mutex_;
  std::vector<Compiled> compiled_;
  Sample sample_;
};

using ShapePtr = std::shared_ptr<Shape>;

/// Moves bytes whose blocks may lie in several kinds of memory (absolute addresses under
/// MPI_BOTTOM). Synchronous.
void copy_mixed(Direction direction, const Layout& layout, std::byte* typed, std::byte* packed,
                ByteRange part);
/// Whether all blocks of `layout` at `base` lie in one kind of memory; `place` is that of the first
/// byte.
[[nodiscard]] bool one_place(const Layout& layout, const std::byte* base, Place& place);

}  // namespace strake::exchange
