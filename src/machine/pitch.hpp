/// \file  The distances between blocks at which boxes are measured.
#pragma once

#include <cstdint>

#include "machine/profile.hpp"

namespace strake::machine {

/// Pitch / block of near and sparse boxes, rounded down.
inline constexpr std::int64_t kNearRatio = 2;
inline constexpr std::int64_t kSparseRatio = 16;
/// [bytes] The least pitch of far boxes: a page walk for each block or two. Blocks of
/// kFarPitch / kSparseRatio and more are that far apart when they are sparse.
inline constexpr std::int64_t kFarPitch = 2048;

enum class PitchClass : std::uint8_t { Near, Sparse, Far, Other };

/// Of a box.
[[nodiscard]] constexpr PitchClass pitch_class(const Result& result) noexcept {
  if (result.block <= 0) return PitchClass::Other;
  if (result.pitch / result.block == kNearRatio) return PitchClass::Near;
  if (result.pitch / result.block == kSparseRatio) return PitchClass::Sparse;
  return result.pitch >= kFarPitch ? PitchClass::Far : PitchClass::Other;
}

/// The pitch at which host memory is measured; 0 where the class has none for such blocks. With 8
/// bytes more than a multiple, blocks begin anywhere in a cache line and lie in all sets of a
/// cache, as those of programs do. (8 bytes more than twice 8 would be another class.)
[[nodiscard]] constexpr std::int64_t host_pitch(PitchClass pitch, std::int64_t block) noexcept {
  if (pitch == PitchClass::Far) return kSparseRatio * block < kFarPitch ? kFarPitch + 8 : 0;
  return (pitch == PitchClass::Near ? kNearRatio : kSparseRatio) * block + (block < 16 ? 0 : 8);
}

}  // namespace strake::machine
