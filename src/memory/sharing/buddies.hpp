/// \file  Blocks of one range of memory: powers of two, that are cut in half as they are needed and
/// joined again when both halves are free, so that no sizes that were used before stand in the way
/// of others. What is known of the blocks is not in the memory itself, which others may write.
/// Uses only the C library.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace strake::sharing {

/// One thread at a time. ~20 ns for a block of a size that was freed last; no allocation.
class Buddies {
 public:
  /// A unit, the smallest block, as far as it is known: 0 stands for none, so that memory of zeroes
  /// holds units of which nothing is known yet.
  struct Unit {
    std::int32_t next = 0;      ///< free block of this order, counted from 1
    std::int32_t previous = 0;  ///< the same
    std::int32_t order = 0;     ///< of the free block that begins here, counted from 1
  };
  /// The most units that there may be.
  static constexpr std::int64_t kMostUnits = std::int64_t{1} << 30;

  Buddies() noexcept = default;
  /// \param units  zeroes, at most kMostUnits; the caller keeps them for as long as the blocks
  /// \param unit_bytes  a power of two
  Buddies(std::span<Unit> units, std::int64_t unit_bytes) noexcept;
  /// The offset of a block, a multiple of its size, that is `bytes` rounded up to a power of two
  /// and to a unit; nothing if none is free.
  [[nodiscard]] std::optional<std::int64_t> take(std::int64_t bytes) noexcept;
  /// `offset` and `bytes` as in take().
  void give_back(std::int64_t offset, std::int64_t bytes) noexcept;
  /// The size of the block that take() gives for so many bytes.
  [[nodiscard]] std::int64_t rounded(std::int64_t bytes) const noexcept {
    return unit_bytes_ << order_of(bytes);
  }

 private:
  static constexpr int kOrders = 32;
  [[nodiscard]] int order_of(std::int64_t bytes) const noexcept;
  [[nodiscard]] Unit& unit(std::int32_t number) noexcept {
    return units_[static_cast<std::size_t>(number)];
  }
  void push(std::int32_t number, int order) noexcept;
  void remove(std::int32_t number) noexcept;

  std::span<Unit> units_;
  std::int64_t unit_bytes_ = 1;
  std::array<std::int32_t, kOrders> first_{};  ///< free block by order, counted from 1; 0: none
};

}  // namespace strake::sharing
