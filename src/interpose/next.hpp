/// \file  The next library's functions: where each wrapper forwards what is not ours.
#pragma once

#include <mpi.h>

#include <atomic>

#include "mpi/real_mpi.hpp"

namespace strake::interpose {

/// One pointer per wrapped function, of the type that mpi.h gives it; null where the library that
/// the process loaded lacks the function.
struct Next {
#define STRAKE_FUNCTION(name) decltype(&::name) name = nullptr;
#include "declared.def"
#undef STRAKE_FUNCTION
};

/// Null until its first use.
inline constinit std::atomic<const Next*> g_next{nullptr};
const Next& resolve_next() noexcept;

/// The table, filled at its first use.
[[nodiscard]] inline const Next& next() noexcept {
  const Next* const table = g_next.load(std::memory_order_acquire);
  return table != nullptr ? *table : resolve_next();
}

}  // namespace strake::interpose
