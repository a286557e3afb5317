/// \file  Checks that STRAKE_CHECK=1 adds to the exchanges of bricks. They find reads of ghost
/// bricks before these arrive, and changes of bricks that are being sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "brick/plan.hpp"

namespace strake {

/// Ghost bricks that are to be received are poisoned: as `float` or `double` each word is a quiet
/// NaN, whose payload arithmetic hands on. An owned cell with such a value was computed from a
/// ghost that had not come. Bytes that have come when start() returns are hidden until finish(), so
/// that an early read is found in each run. Mapped ghosts are not poisoned: early reads of these
/// are not found.
class AnyBrickGrid::Check {
 public:
  explicit Check(const Plan& plan) noexcept : plan_(plan) {}
  /// Before an exchange starts. \throws Error  an owned cell was computed from poison; the message
  /// has its coordinates
  void before_start(std::byte* memory);
  /// Hides the ghosts that have come.
  void after_start(std::byte* memory);
  /// Shows them, when all of the first exchange have come.
  void show(std::byte* memory);
  /// After it has ended. \throws Error  a brick that was sent has been changed meanwhile
  void after_finish(const std::byte* memory) const;

 private:
  void look(const std::byte* memory) const;
  void poison(std::byte* memory) const;
  template <typename Visit>
  void for_each_ghost(std::byte* memory, const Visit& visit) const;
  [[nodiscard]] std::byte* brick(std::byte* memory, int field, std::int32_t number) const;

  const Plan& plan_;
  std::vector<std::byte> sent_;    ///< the surface bricks of all fields
  std::vector<std::byte> hidden_;  ///< ghost bricks as they were after start()
};

}  // namespace strake
