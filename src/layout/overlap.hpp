/// \file  Whether bytes that are written are touched by anything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace strake {

/// Bytes [begin, end) that `user`, one of several, reads or writes.
struct Touched {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::size_t user = 0;
  bool written = false;
};

/// Two users of one byte, of whom at least one writes it.
struct Overlap {
  std::uint64_t byte = 0;  ///< the first such byte of all
  Touched earlier;         ///< begins no later than the other one
  Touched later;
};

/// Finds the first byte that one user writes, and another one reads or writes. It is also found if
/// one user both reads and writes it; a user may write a byte twice. Sorts `all` by its begins.
/// Cost: O(n log n).
[[nodiscard]] std::optional<Overlap> find_overlap(std::vector<Touched>& all);

}  // namespace strake
