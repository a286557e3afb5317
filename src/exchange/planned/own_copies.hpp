/// \file  What a rank sends to itself in a planned exchange: copies from array to array.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exchange/planned/lane.hpp"

namespace strake::exchange::planned {

class OwnCopies {
 public:
  OwnCopies() = default;
  /// Of each piece `mine` is sent, and `theirs` received.
  OwnCopies(std::vector<Piece> pieces, Place place);
  /// Waits for what was begun.
  ~OwnCopies();
  OwnCopies(OwnCopies&&) noexcept = default;
  OwnCopies& operator=(OwnCopies&&) noexcept = default;

  [[nodiscard]] bool is_empty() const noexcept { return pieces_.empty(); }
  [[nodiscard]] std::int64_t size_bytes() const noexcept;
  /// Begins all; the other way, if `reverse`, combined with what is there.
  void begin(Bases bases, bool reverse, std::span<const Combine> combine);
  /// Whether what was begun is done. \throws CudaError
  [[nodiscard]] bool idle();

 private:
  void copy_back(std::size_t i, std::byte* sent, const std::byte* received, const Combine& how);

  std::vector<Piece> pieces_;
  Place place_;
  std::vector<std::optional<CopyPlan>> plans_;
  std::vector<std::optional<CopyPlan>> packs_;  ///< of what was received
  std::vector<DeviceCopy> copies_, copies_back_;
  std::vector<std::byte> scratch_;
  std::vector<std::shared_ptr<const Launch>> running_;
};

}  // namespace strake::exchange::planned
