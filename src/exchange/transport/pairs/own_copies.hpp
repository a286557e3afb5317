/// \file  Copies from array to array in host memory, of the bytes that a rank sends to itself in a
/// planned exchange. In a device's memory they are part of its rounds (put/device_put.hpp).
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
  /// The layout `mine` of each transfer is sent, `theirs` is received.
  explicit OwnCopies(std::vector<MatchedTransfer> transfers);
  [[nodiscard]] bool is_empty() const noexcept { return transfers_.empty(); }
  /// Runs all copies. `reverse`: from the receiving arrays to the sending ones, combined with what
  /// is there.
  void run(Bases bases, bool reverse, std::span<const Combine> combine);

 private:
  void copy_back(std::size_t i, std::byte* sent, const std::byte* received, const Combine& how);

  std::vector<MatchedTransfer> transfers_;
  std::vector<std::optional<CopyPlan>> plans_;
  std::vector<std::optional<CopyPlan>> packs_;  ///< of what was received
  std::vector<std::byte> scratch_;
};

}  // namespace strake::exchange::planned
