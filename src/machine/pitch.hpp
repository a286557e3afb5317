/// \file  The distances between blocks at which boxes are measured.
#pragma once

#include <cstdint>

#include "machine/profile.hpp"

namespace strake::machine {

/// Pitch / block of near and sparse boxes, rounded down.
inline constexpr std::int64_t kNearRatio = 2;
inline constexpr std::int64_t kSparseRatio = 16;
/// The least pitch of far boxes: a page walk for each block or two. Blocks of
/// kFarPitch / kSparseRatio bytes and more are that far apart when they are sparse. [bytes]
inline constexpr std::int64_t kFarPitch = 2048;

enum class PitchClass : std::uint8_t {
  Near,
  Sparse,
  Far,
  Aligned,  ///< far, by a multiple of kFarPitch: all blocks lie in a few sets of each cache
  Other
};

[[nodiscard]] constexpr bool is_aligned(std::int64_t pitch) noexcept {
  return pitch % kFarPitch == 0;
}

/// The class of a measured box's pitch.
[[nodiscard]] constexpr PitchClass pitch_class(const Result& result) noexcept {
  if (result.block <= 0) return PitchClass::Other;
  if (result.pitch / result.block == kNearRatio) return PitchClass::Near;
  if (result.pitch / result.block == kSparseRatio) return PitchClass::Sparse;
  if (result.pitch < kFarPitch) return PitchClass::Other;
  return is_aligned(result.pitch) ? PitchClass::Aligned : PitchClass::Far;
}

/// A row of the matrices that transposes are measured with [bytes].
inline constexpr std::int64_t kTransposeRow = 2048;

/// The pitch at which device memory is measured, near or sparse.
[[nodiscard]] constexpr std::int64_t device_pitch(PitchClass pitch, std::int64_t block) noexcept {
  return (pitch == PitchClass::Near ? kNearRatio : kSparseRatio) * block;
}

/// \{ In host memory, pitches of blocks of kLeastShifted bytes and more are larger by kHostShift
/// bytes (shorter blocks would come into another class). So blocks begin anywhere in a cache line
/// and lie in all sets of a cache, as those of programs do.
inline constexpr std::int64_t kHostShift = 8;
inline constexpr std::int64_t kLeastShifted = 16;
/// 0 if the class has no pitch for such blocks.
[[nodiscard]] constexpr std::int64_t host_pitch(PitchClass pitch, std::int64_t block) noexcept {
  if (pitch == PitchClass::Far || pitch == PitchClass::Aligned) {
    if (kSparseRatio * block >= kFarPitch) return 0;
    return pitch == PitchClass::Far ? kFarPitch + kHostShift : 2 * kFarPitch;
  }
  return device_pitch(pitch, block) + (block < kLeastShifted ? 0 : kHostShift);
}
/// \}

}  // namespace strake::machine
