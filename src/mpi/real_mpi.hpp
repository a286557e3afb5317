/// \file  The table of the MPI library's own functions. All calls that Strake makes or passes on go
/// through it, never through Strake's wrappers. PMPI tools that were loaded after Strake see them.
#pragma once

#include <mpi.h>

#include <atomic>

#include "mpi/quirks.hpp"

namespace strake::mpi {

/// One pointer for each function of functions.def that mpi.h declares, of the type that mpi.h gives
/// it. Null where the MPI library that the process loaded lacks the function.
struct RealMpi {
#define STRAKE_FUNCTION(name) decltype(&::name) name = nullptr;
#include "mpi/declared.def"
#undef STRAKE_FUNCTION
};

/// Null until its first use.
inline constinit std::atomic<const RealMpi*> g_real_mpi{nullptr};
const RealMpi& resolve_real_mpi() noexcept;

/// The table, filled at its first use. Any thread may call it, before MPI_Init and after
/// MPI_Finalize too. < 1 ns.
[[nodiscard]] inline const RealMpi& real_mpi() noexcept {
  const RealMpi* const table = g_real_mpi.load(std::memory_order_acquire);
  return table != nullptr ? *table : resolve_real_mpi();
}

/// One function of the table, which is looked up at each call: `RealFunction{&RealMpi::MPI_Send}`.
template <typename Pointer>
struct RealFunction {
  Pointer RealMpi::*member;
  template <typename... Arguments>
  int operator()(Arguments... arguments) const {
    return (real_mpi().*member)(arguments...);
  }
};
template <typename Pointer>
RealFunction(Pointer RealMpi::*) -> RealFunction<Pointer>;

/// The MPI library's own symbol of any name, or null. Costs a symbol search.
[[nodiscard]] void* find_real(const char* name) noexcept;

/// Does nothing on MPI_SUCCESS.
/// \throws MpiError  with the library's text for `code`, which `function` returned.
void check(int code, const char* function);

}  // namespace strake::mpi
