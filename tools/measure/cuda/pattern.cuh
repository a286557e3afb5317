/// \file  The pattern that every benchmark moves: each byte depends on its whole position.
#pragma once

#include <cstdint>

namespace strake::measure::cuda {

/// Word `word` of pattern `seed` (the finalizer of SplitMix64: neighbours share nothing).
__host__ __device__ inline std::uint64_t mixed_word(std::uint64_t seed, std::uint64_t word) {
  std::uint64_t z = (word + 1) * 0x9e3779b97f4a7c15ull + seed * 0xd1342543de82ef95ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace strake::measure::cuda
