/// \file  Which messages MPI keeps in order, and what is remembered of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace strake::exchange::shared {

/// Where a message goes, or comes from. Messages of one sender and one destination do not overtake
/// each other.
struct Destination {
  std::int32_t rank = -1;  ///< in MPI_COMM_WORLD
  std::int32_t tag = 0;
  std::uint64_t comm = 0;  ///< the communicator's name
  bool operator==(const Destination&) const = default;
  /// A message that a cell tells of (exchange/transport/shared/cells.hpp), and no header message.
  [[nodiscard]] static Destination by_cell(std::int32_t rank) noexcept {
    return {rank, kByCell, 0};
  }
  [[nodiscard]] bool is_by_cell() const noexcept { return tag == kByCell; }

 private:
  static constexpr std::int32_t kByCell = INT32_MIN;
};

/// Values of the destinations that were used last: a newer one may take an older one's place. ~2
/// ns.
template <typename Value>
class ByDestination {
 public:
  /// Null: it is not remembered.
  [[nodiscard]] const Value* find(const Destination& of) const noexcept {
    const auto& [destination, value] = all_[place_of(of)];
    return destination == of ? &value : nullptr;
  }
  void set(const Destination& of, Value value) noexcept {
    all_[place_of(of)] = {of, std::move(value)};
  }

 private:
  static constexpr std::size_t kPlaces = 256;
  static std::size_t place_of(const Destination& of) noexcept {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
    const std::uint64_t number =
        (static_cast<std::uint64_t>(of.rank) << 32U) ^ static_cast<std::uint32_t>(of.tag) ^ of.comm;
    return static_cast<std::size_t>((number * kSpread) >> 32U) % kPlaces;
  }

  std::vector<std::pair<Destination, Value>> all_ =
      std::vector<std::pair<Destination, Value>>(kPlaces);
};

}  // namespace strake::exchange::shared
