/// \file  Blocks of one range of memory: powers of two, that are cut in half as they are needed and
/// joined again when both halves are free, so that no sizes that were used before stand in the way
/// of others. What is known of the blocks is not in the memory itself, which others may write.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace strake::sharing {

/// One thread at a time. ~20 ns for a block of a size that was freed last; no allocation.
class Buddies {
 public:
  /// The smallest block. [bytes]
  static constexpr std::int64_t kUnit = 4096;

  /// \throws std::bad_alloc
  explicit Buddies(std::int64_t bytes);
  /// The offset of a block, a multiple of kUnit; nothing if none is free.
  [[nodiscard]] std::optional<std::int64_t> take(std::int64_t bytes);
  /// `offset` and `bytes` as in take().
  void give_back(std::int64_t offset, std::int64_t bytes) noexcept;

 private:
  static constexpr int kOrders = 32;
  static constexpr std::int32_t kNone = -1;
  static int order_of(std::int64_t bytes) noexcept;
  void push(std::int32_t unit, int order) noexcept;
  void remove(std::int32_t unit) noexcept;

  struct Unit {
    std::int32_t next = kNone;
    std::int32_t previous = kNone;
    std::int32_t order = kNone;  ///< of the free block that begins here
  };
  std::vector<Unit> units_;
  std::array<std::int32_t, kOrders> first_;
};

}  // namespace strake::sharing
