/// \file  `count` elements of one datatype: the bytes that they select, and what is derived from
/// that once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "layout/traits.hpp"
#include "strake/layout.hpp"

namespace strake::mpi {

/// What a room above keeps for some elements: made once, and gone with them.
class Companion {
 public:
  virtual ~Companion() = default;
};

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

  /// The companion, of type T: one kind of companion only. Made at its first use, then ~1 ns.
  template <typename T>
  [[nodiscard]] T& companion() {
    Companion* known = companion_.load(std::memory_order_acquire);
    if (known == nullptr) known = keep(std::make_unique<T>(layout_));
    return *static_cast<T*>(known);
  }

 private:
  /// The one that stays, where two threads made one each.
  Companion* keep(std::unique_ptr<Companion> made) noexcept;

  Layout layout_;
  Spread spread_;
  std::int64_t pitch_;
  std::atomic<Companion*> companion_{nullptr};
};

using ElementsPtr = std::shared_ptr<Elements>;

}  // namespace strake::mpi
