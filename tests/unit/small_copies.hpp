/// \file  Copies of a few bytes, whose answer can be seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strake/layout.hpp"

namespace strake {

/// 0, 1, 2, …
inline std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> values(bytes);
  for (std::size_t i = 0; i < bytes; ++i) values[i] = static_cast<std::byte>(i);
  return values;
}

inline Layout every_second_byte(std::int64_t count) {
  const Dim dims[] = {{count, 2}};
  return Layout::box(0, 1, dims);
}

}  // namespace strake
