/// \file  `count` elements of one datatype: the bytes that they select, and values derived from
/// them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "layout/traits.hpp"
#include "mpi/companion.hpp"
#include "strake/layout.hpp"

namespace strake::mpi {

/// Immutable but for its companion: threads share one object.
class Elements : public std::enable_shared_from_this<Elements> {
 public:
  explicit Elements(Layout layout);
  ~Elements();
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] std::int64_t size_bytes() const noexcept { return layout_.size_bytes(); }
  [[nodiscard]] std::int64_t block_count() const noexcept { return layout_.block_count(); }
  [[nodiscard]] bool dense() const noexcept { return layout_.is_dense(); }
  [[nodiscard]] Spread spread() const noexcept { return spread_; }
  [[nodiscard]] std::int64_t pitch() const noexcept { return pitch_; }

  /// The companion, made at its first use; ~1 ns later. T must be the same type in all calls.
  template <typename T>
  [[nodiscard]] T& companion() {
    Companion* known = companion_.load(std::memory_order_acquire);
    if (known == nullptr) known = keep(std::make_unique<T>(layout_));
    return *static_cast<T*>(known);
  }

 private:
  /// Stores `made`, unless another thread was first; returns the stored one.
  Companion* keep(std::unique_ptr<Companion> made) noexcept;

  Layout layout_;
  Spread spread_;
  std::int64_t pitch_;
  std::atomic<Companion*> companion_{nullptr};
};

using ElementsPtr = std::shared_ptr<Elements>;

}  // namespace strake::mpi
