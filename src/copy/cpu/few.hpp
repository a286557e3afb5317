/// \file  Copies of a few bytes, which are not worth a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace strake::cpu {

inline constexpr std::int64_t kFewBytes = 16;

/// Any length in [kHalf, 2 * kHalf]: its head and its tail, which may overlap.
template <int kHalf>
inline void copy_halves(std::byte* __restrict to, const std::byte* __restrict from,
                        std::int64_t bytes) {
  std::byte head[kHalf];
  std::byte tail[kHalf];
  std::memcpy(head, from, kHalf);
  std::memcpy(tail, from + bytes - kHalf, kHalf);
  std::memcpy(to, head, kHalf);
  std::memcpy(to + bytes - kHalf, tail, kHalf);
}

/// Up to kFewBytes.
inline void copy_few(std::byte* __restrict to, const std::byte* __restrict from,
                     std::int64_t bytes) {
  if (bytes >= 8) [[likely]]
    return copy_halves<8>(to, from, bytes);
  if (bytes >= 4) return copy_halves<4>(to, from, bytes);
  if (bytes >= 2) return copy_halves<2>(to, from, bytes);
  if (bytes == 1) *to = *from;
}

}  // namespace strake::cpu
