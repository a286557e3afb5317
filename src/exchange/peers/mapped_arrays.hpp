/// \file  Arrays in shared host memory that ranks of a node read where they lie.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exchange/peers/group.hpp"

namespace strake::exchange::peers {

/// Where an array lies, for a rank that has mapped its region.
struct ArrayAddress {
  std::int32_t region = -1;  ///< of sharing::Arenas; negative: it is in none
  std::uint32_t generation = 0;
  std::int64_t offset = 0;  ///< of the array's address, which its bytes may be away from [bytes]
};

/// Announces the region of the bytes [first, last) of an array to a connected rank; nothing is
/// announced to this rank itself. \returns no region: the bytes are not shared, or can't be
/// announced now
[[nodiscard]] ArrayAddress announce_array(const Group& group, int rank, const std::byte* array,
                                          const std::byte* first, const std::byte* last);

/// Where an array of a connected rank is mapped here, read-only. Null: no region, it is not mapped,
/// or its region does not have all of the bytes from `begin` to `end`. The rank has announced it
/// before it told the address.
[[nodiscard]] const std::byte* find_array(const Group& group, int rank, const ArrayAddress& where,
                                          std::int64_t begin, std::int64_t end);

}  // namespace strake::exchange::peers
