/// \file  All that goes from one rank to another in a planned exchange, and the copies that it
/// takes, compiled once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exchange/planned/board.hpp"
#include "exchange/planned/sheets.hpp"
#include "strake/copy.hpp"
#include "strake/exchange.hpp"

namespace strake::exchange::planned {

/// Where a start has this rank's arrays, by number.
using Bases = std::span<std::byte* const>;

/// One lane, in one of its two directions of use: bytes are given by one end and taken at the
/// other. In a reverse exchange the ends change their parts.
class Lane {
 public:
  /// `pieces` are this rank's end of it.
  explicit Lane(std::vector<Piece> pieces);

  /// Of the packed bytes: pieces begin at lines of a cache, in the same place at both ends.
  /// [bytes]
  [[nodiscard]] std::int64_t packed_bytes() const noexcept { return packed_bytes_; }
  /// Of the pieces. [bytes]
  [[nodiscard]] std::int64_t size_bytes() const noexcept { return size_bytes_; }
  [[nodiscard]] bool is_empty() const noexcept { return pieces_.empty(); }
  /// How many of the bytes are read in place, if this rank's arrays are shared.
  [[nodiscard]] std::int64_t bytes_in_place() const noexcept;
  /// The arrays of this rank that it may read in place, with what is touched there.
  struct Shown {
    int array = 0;
    ByteRange touched;
  };
  [[nodiscard]] const std::vector<Shown>& shown() const noexcept { return shown_; }

  /// Packs this rank's bytes to `packed`, those that are read in place only if `all`.
  void pack(Bases bases, std::byte* packed, bool all);
  /// Takes the other end's bytes: from `packed`, or, where they are read in place, from what
  /// `their_array(number)` gives.
  template <typename TheirArray>
  void take(Bases bases, const std::byte* packed, bool in_place, const TheirArray& their_array) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const bool there = in_place && in_place_for_taker(i);
      const std::byte* const from =
          there ? their_array(pieces_[i].their_array) : packed + packed_at_[i];
      take_piece(i, bases, from, there);
    }
  }
  /// The same, combined with what is here.
  template <typename TheirArray>
  void combine(Bases bases, const std::byte* packed, bool in_place, const TheirArray& their_array,
               std::span<const Combine> combine) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const bool there = in_place && in_place_for_taker(i);
      const std::byte* const from =
          there ? their_array(pieces_[i].their_array) : packed + packed_at_[i];
      combine_piece(i, bases, from, there, combine);
    }
  }

 private:
  /// Compiled when first needed: a reverse exchange may never be.
  struct Plans {
    std::optional<CopyPlan> pack;         ///< packed <- mine
    std::optional<CopyPlan> unpack;       ///< mine <- packed
    std::optional<CopyPlan> pull;         ///< mine <- theirs
    std::optional<CopyPlan> pack_theirs;  ///< packed <- theirs
  };
  [[nodiscard]] bool in_place_for_giver(std::size_t i) const noexcept { return mine_in_place_[i]; }
  [[nodiscard]] bool in_place_for_taker(std::size_t i) const noexcept {
    return theirs_in_place_[i];
  }
  void take_piece(std::size_t i, Bases bases, const std::byte* from, bool there);
  void combine_piece(std::size_t i, Bases bases, const std::byte* from, bool there,
                     std::span<const Combine> combine);

  std::vector<Piece> pieces_;
  std::vector<Plans> plans_;
  std::vector<std::int64_t> packed_at_;
  std::vector<bool> mine_in_place_;
  std::vector<bool> theirs_in_place_;
  std::vector<Shown> shown_;
  std::vector<std::byte> scratch_;
  std::int64_t packed_bytes_ = 0;
  std::int64_t size_bytes_ = 0;
};

/// `combine` of one array: as many as arrays, or one for all.
[[nodiscard]] inline const Combine& combine_of(std::span<const Combine> combine, int array) {
  return combine[combine.size() == 1 ? 0 : static_cast<std::size_t>(array)];
}

/// Combines packed values with a layout's bytes.
void combine_packed(const Layout& layout, std::byte* base, const std::byte* packed,
                    const Combine& combine);

}  // namespace strake::exchange::planned
