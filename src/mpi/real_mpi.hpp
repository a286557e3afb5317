/// \file  The system MPI's own functions: what Strake calls goes there and never through Strake's
/// wrappers, while PMPI tools that were loaded after Strake still see it.
#pragma once

#include <mpi.h>

/// Whether mpi.h declares the large-count (`_c`) functions of MPI 4.
#if MPI_VERSION >= 4
#define STRAKE_MPI_LARGE_COUNTS 1
#else
#define STRAKE_MPI_LARGE_COUNTS 0
#endif

namespace strake::mpi {

/// One pointer per name of real_functions.def, of the type that mpi.h gives it; null where the
/// library that the process loaded lacks the function.
struct RealMpi {
#define STRAKE_REAL(name) decltype(&::name) name = nullptr;
#if STRAKE_MPI_LARGE_COUNTS
#define STRAKE_REAL_LARGE(name) STRAKE_REAL(name)
#else
#define STRAKE_REAL_LARGE(name)
#endif
#include "mpi/real_functions.def"
#undef STRAKE_REAL_LARGE
#undef STRAKE_REAL
};

/// The table, filled at its first use. Any thread may call it, before MPI_Init and after
/// MPI_Finalize too.
[[nodiscard]] const RealMpi& real_mpi() noexcept;

/// The system's own symbol of any name, or null. Costs a symbol search.
[[nodiscard]] void* find_real(const char* name) noexcept;

/// Does nothing on MPI_SUCCESS. \throws MpiError  with the library's own words for `code`, which
/// `function` returned.
void check(int code, const char* function);

}  // namespace strake::mpi
