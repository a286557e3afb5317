/// \file  Where no memory is.
#pragma once

#include <cstdint>

namespace strake {

/// No buffer begins below: a null pointer with a small offset is a mistake.
inline constexpr std::uintptr_t kFirstPage = 4096;

}  // namespace strake
