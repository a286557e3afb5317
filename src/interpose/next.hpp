/// \file  The next library's functions: where each wrapper forwards what is not ours.
#pragma once

#include <mpi.h>

#include "mpi/real_mpi.hpp"

namespace strake::interpose {

/// One pointer per wrapped function, of the type that mpi.h gives it; null where the library that
/// the process loaded lacks the function.
struct Next {
#define STRAKE_FUNCTION(name) decltype(&::name) name = nullptr;
#include "declared.def"
#undef STRAKE_FUNCTION
};

/// The table, filled at its first use.
[[nodiscard]] inline const Next& next() noexcept {
  extern const Next* g_next;
  extern const Next& resolve_next() noexcept;
  return g_next != nullptr ? *g_next : resolve_next();
}

}  // namespace strake::interpose
