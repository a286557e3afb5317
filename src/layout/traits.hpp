/// \file  Traits of a layout that the time of a copy depends on, besides its bytes and blocks.
#pragma once

#include <cstdint>

#include "strake/layout.hpp"

namespace strake {

/// How a layout's blocks follow each other in memory. Of several boxes (a struct of one subarray
/// for each field), the one with the most blocks counts.
enum class Spread : std::uint8_t {
  Near,
  Sparse,     ///< each half a cache line or more from the next: lines have many unused bytes
  Far,        ///< each a kilobyte or more from the next: page walks set the time of any copy
  Transpose,  ///< far, but an outer dimension selects the bytes between
};
[[nodiscard]] Spread spread_of(const Layout& layout) noexcept;
/// Bytes from block to block in the innermost dimension of the box with the most blocks; 0 where
/// there is none, or the blocks are listed.
[[nodiscard]] std::int64_t pitch_of(const Layout& layout) noexcept;

}  // namespace strake
