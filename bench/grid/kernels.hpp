/// \file  Copies of boxes of doubles, all in one launch: what a good program packs and unpacks
/// with.
#pragma once

#include <cuda_runtime_api.h>

#include <bit>
#include <cstdint>

namespace bench {

/// Divides by one number, without a division: n * factor >> shift, for all n < 2^31. The factor is
/// 2^shift / divisor rounded up, too much by less than 1; since 2^(shift - 31) >= divisor, that
/// makes a difference of less than 1 / divisor in the quotient, which therefore rounds down right.
struct Divisor {
  std::uint32_t divisor = 1;
  std::uint32_t factor = std::uint32_t{1} << 31;
  std::uint32_t shift = 31;
};
/// \param divisor  from 1 to 2^31
[[nodiscard]] inline Divisor divisor_of(std::uint32_t divisor) {
  const auto shift = 31 + static_cast<std::uint32_t>(std::bit_width(divisor - 1));
  const std::uint64_t whole = std::uint64_t{1} << shift;
  return {divisor, static_cast<std::uint32_t>((whole + divisor - 1) / divisor), shift};
}

/// One end of a copy: distances of rows and of planes are in doubles.
struct BoxEnd {
  double* cells = nullptr;
  std::int64_t row = 0;
  std::int64_t plane = 0;
};

/// Fewer than 2^31 cells.
struct BoxCopy {
  BoxEnd to;
  BoxEnd from;
  std::uint32_t cells = 0;
  Divisor length;  ///< of a row
  Divisor rows;    ///< of a plane
};

/// Cells that one thread block copies: up to kTileCells of a box, from number `first` on.
struct Tile {
  std::uint32_t box = 0;
  std::uint32_t first = 0;
};
inline constexpr std::uint32_t kTileCells = 1024;

/// Both tables are in memory of the device.
cudaError_t launch_copies(const BoxCopy* boxes, const Tile* tiles, std::uint32_t tile_count,
                          cudaStream_t stream);

}  // namespace bench
