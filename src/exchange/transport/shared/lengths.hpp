/// \file  How long header messages are. A probe finds a header message by its length alone, so
/// those that follow each other from one rank to another with the same tag and communicator differ
/// in length.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exchange/transport/shared/destination.hpp"

namespace strake::exchange::shared {

/// [bytes] Sizes that few messages of users have; those that do get a descriptor, too, so that a
/// probe can tell which one is next. Long enough that receives with less room, as those of edges
/// and corners are, are none of Strake's business: the MPI library itself finds a header message
/// too long for them, as the message would be. Short enough for the fast path of small messages
/// (1024 bytes with a header in Open MPI). Multiples of 32, since a header message may end no
/// element of a receive's type.
inline constexpr std::array<std::int64_t, 5> kHeaderLengths{992, 928, 896, 864, 832};
inline constexpr std::int64_t kLongestHeader = 992;
inline constexpr std::int64_t kShortestHeader = 832;

[[nodiscard]] constexpr bool is_header_length(std::int64_t bytes) noexcept {
  return bytes >= kShortestHeader && bytes <= kLongestHeader &&
         std::ranges::find(kHeaderLengths, bytes) != kHeaderLengths.end();
}

/// Chooses the lengths of a rank's header messages.
class Lengths {
 public:
  explicit Lengths(std::int32_t ranks) : lengths_(static_cast<std::size_t>(ranks)) {}

  /// A message of that length goes to that rank without a descriptor: no header message may have
  /// it.
  void spoil(std::int32_t rank, std::int64_t bytes) noexcept { of(rank).spoiled |= bit(bytes); }
  /// A message of that length goes there with a descriptor: header messages to that rank have other
  /// lengths from now on, as long as there are any.
  void avoid(const Destination& to, std::int64_t bytes) noexcept {
    of(to.rank).avoided |= bit(bytes);
    last_.set(to, bytes);
  }
  [[nodiscard]] bool is_spoiled(std::int32_t rank, std::int64_t bytes) const noexcept {
    return (of(rank).spoiled & bit(bytes)) != 0;
  }
  /// Whether no length is left for header messages to that rank.
  [[nodiscard]] bool all_spoiled(std::int32_t rank) const noexcept {
    return of(rank).spoiled == kAll;
  }
  /// The length of the next header message there, which is not that of the one before, unless no
  /// other is left. ~2 ns.
  /// \param before  gives the length of the newest message there that has a descriptor and was not
  ///                received yet; 0: there is none. Asked only where that is not remembered.
  template <typename Before>
  [[nodiscard]] std::int64_t next(const Destination& to, const Before& before) {
    const std::int64_t* const last = last_.find(to);
    const std::int64_t bytes = last != nullptr ? *last : before();
    const ForRank& of_rank = of(to.rank);
    const std::uint8_t others = of_rank.spoiled | of_rank.avoided;
    const std::uint8_t without = others == kAll ? of_rank.spoiled : others;
    std::size_t index = bytes == 0 ? kHeaderLengths.size() - 1 : index_of(bytes);
    for (std::size_t i = 0; i < kHeaderLengths.size(); ++i) {
      index = (index + 1) % kHeaderLengths.size();
      if ((without & bit(kHeaderLengths[index])) == 0) break;
    }
    last_.set(to, kHeaderLengths[index]);
    return kHeaderLengths[index];
  }

 private:
  /// A bit for each length.
  struct ForRank {
    std::uint8_t spoiled = 0;
    std::uint8_t avoided = 0;
  };
  static constexpr std::uint8_t kAll = (1U << kHeaderLengths.size()) - 1;
  static std::uint8_t bit(std::int64_t bytes) noexcept {
    return static_cast<std::uint8_t>(1U << index_of(bytes));
  }
  [[nodiscard]] ForRank& of(std::int32_t rank) noexcept {
    return lengths_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const ForRank& of(std::int32_t rank) const noexcept {
    return lengths_[static_cast<std::size_t>(rank)];
  }
  static std::size_t index_of(std::int64_t bytes) noexcept {
    return static_cast<std::size_t>(std::ranges::find(kHeaderLengths, bytes) -
                                    kHeaderLengths.begin());
  }

  std::vector<ForRank> lengths_;
  ByDestination<std::int64_t> last_;
};

}  // namespace strake::exchange::shared
