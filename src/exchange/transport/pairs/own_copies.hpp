/// \file  What a rank sends to itself in a planned exchange, in host memory: copies from array to
/// array. In the memory of a device they are part of its rounds (put/device_put.hpp).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exchange/transport/pairs/pair_schedule.hpp"

namespace strake::exchange::planned {

class OwnCopies {
 public:
  OwnCopies() = default;
  /// Of each piece `mine` is sent, and `theirs` received.
  explicit OwnCopies(std::vector<Piece> pieces);
  [[nodiscard]] bool is_empty() const noexcept { return pieces_.empty(); }
  /// All, in host memory; the other way, if `reverse`, combined with what is there.
  void run(Bases bases, bool reverse, std::span<const Combine> combine);

 private:
  void copy_back(std::size_t i, std::byte* sent, const std::byte* received, const Combine& how);

  std::vector<Piece> pieces_;
  std::vector<std::optional<CopyPlan>> plans_;
  std::vector<std::optional<CopyPlan>> packs_;  ///< of what was received
  std::vector<std::byte> scratch_;
};

}  // namespace strake::exchange::planned
