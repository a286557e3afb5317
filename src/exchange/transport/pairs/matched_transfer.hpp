/// \file  One transfer of a planned exchange, matched with its other end.
#pragma once

#include <cstdint>

#include "strake/layout.hpp"

namespace strake::exchange::planned {

/// Packed transfers begin at lines of a cache, in the same place at both ends. [bytes]
inline constexpr std::int64_t kLine = 64;
/// Returns `bytes`, rounded up to whole lines.
[[nodiscard]] constexpr std::int64_t whole_lines(std::int64_t bytes) noexcept {
  return (bytes + kLine - 1) / kLine * kLine;
}

/// A transfer, as one end knows it. Its other end is in the same place of the other rank's list.
struct MatchedTransfer {
  int tag = 0;
  int array = 0;
  Layout mine;
  Layout theirs;  ///< empty if the other end is on another node
  int their_array = 0;
  bool dense = false;  ///< at both ends, which are in host memory
  /// \{ As the schedule has it.
  std::int64_t packed_at = 0;  ///< among its packed bytes
  bool mine_in_place = false;  ///< this rank's bytes may be read in their array
  bool theirs_in_place = false;
  /// \}
};

}  // namespace strake::exchange::planned
