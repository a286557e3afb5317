/// \file  Numbers for names.
#pragma once

#include <cstdint>
#include <string_view>

namespace strake::job {

/// FNV-1a.
[[nodiscard]] constexpr std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace strake::job
