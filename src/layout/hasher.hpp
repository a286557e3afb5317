/// \file  The hash of layouts, and of whatever else is compared by its hash.
#pragma once

#include <cstdint>

#include "strake/layout.hpp"

namespace strake {

/// Mixes 64-bit words into two independent lanes (the finaliser of SplitMix64, with different
/// constants each).
class Hasher {
 public:
  void add(std::int64_t word) {
    const auto w = static_cast<std::uint64_t>(word);
    lo_ = mix(lo_ ^ (w + 0x9E3779B97F4A7C15U + (lo_ << 6)));
    hi_ = mix(hi_ + w * 0xD6E8FEB86659FD93U + 0xA5A5A5A5A5A5A5A5U);
  }
  [[nodiscard]] Hash128 value() const { return {mix(lo_ + hi_), mix(hi_ ^ (lo_ << 1))}; }

 private:
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
  }
  std::uint64_t lo_ = 0x243F6A8885A308D3U;
  std::uint64_t hi_ = 0x13198A2E03707344U;
};

}  // namespace strake
