/// \file  What the time of a copy depends on, besides its bytes and blocks.
#pragma once

#include <cstdint>

#include "strake/layout.hpp"

namespace strake {

/// How a layout's blocks follow each other in memory: those of the box that has most of them, where
/// there are several (a struct of one subarray a field).
enum class Spread : std::uint8_t {
  Near,
  Sparse,  ///< each half a cache line or more from the next: a copy moves much more than it takes
  Far,     ///< each a kilobyte or more from the next: page walks set the time of any copy
  Transpose,  ///< far, but an outer dimension comes back to fill the lines between
};
[[nodiscard]] Spread spread_of(const Layout& layout) noexcept;
/// Bytes from block to block of that box's innermost dimension; 0 where there is none, or the
/// blocks are listed.
[[nodiscard]] std::int64_t pitch_of(const Layout& layout) noexcept;

}  // namespace strake
