/// \file  Fortran's named addresses (MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE and so on). An
/// argument with such an address becomes the constant of C.
#pragma once

#include <mpi.h>

#include "mpi/quirks.hpp"

#if STRAKE_MPI_FORTRAN_COMMON_BLOCKS
// One common block per constant. The C library defines them too, so they bind to the same address
// however late the program's Fortran parts are loaded; weak, since an Open MPI built without
// Fortran has none.
extern "C" {
[[gnu::weak]] extern int mpi_fortran_bottom_;
[[gnu::weak]] extern int mpi_fortran_in_place_;
[[gnu::weak]] extern int mpi_fortran_unweighted_;
[[gnu::weak]] extern int mpi_fortran_weights_empty_;
[[gnu::weak]] extern int mpi_fortran_argv_null_;
[[gnu::weak]] extern int mpi_fortran_argvs_null_;
[[gnu::weak]] extern int mpi_fortran_errcodes_ignore_;
}
#else
// Variables of MPICH's module for mpi_f08, by gfortran's names for them: distributions build MPICH
// with gfortran only. Weak, since only programs that use the module have them. Calls by mpif.h and
// `use mpi` reach the C wrappers with C's constants.
extern "C" {
[[gnu::weak]] extern int strake_f08_unweighted __asm__(
    "__mpi_f08_link_constants_MOD_mpi_unweighted");
[[gnu::weak]] extern int strake_f08_weights_empty __asm__(
    "__mpi_f08_link_constants_MOD_mpi_weights_empty");
[[gnu::weak]] extern int strake_f08_argv_null __asm__("__mpi_f08_link_constants_MOD_mpi_argv_null");
[[gnu::weak]] extern int strake_f08_argvs_null __asm__(
    "__mpi_f08_link_constants_MOD_mpi_argvs_null");
[[gnu::weak]] extern int strake_f08_errcodes_ignore __asm__(
    "__mpi_f08_link_constants_MOD_mpi_errcodes_ignore");
// Some releases of MPICH (4.2.0) have these in their Fortran library only.
[[gnu::weak]] extern MPI_F08_status* MPI_F08_STATUS_IGNORE;
[[gnu::weak]] extern MPI_F08_status* MPI_F08_STATUSES_IGNORE;
}
#endif

namespace strake::interpose::fortran {

/// Whether `address` is that of a named constant, which is null if the library lacks it.
[[nodiscard]] inline bool is(const void* address, const void* constant) noexcept {
  return constant != nullptr && address == constant;
}

#if STRAKE_MPI_FORTRAN_COMMON_BLOCKS

[[nodiscard]] inline bool ignores_statuses(const void* fortran) noexcept {
  return is(fortran, MPI_F_STATUS_IGNORE) || is(fortran, MPI_F_STATUSES_IGNORE);
}

[[nodiscard]] inline void* buffer(void* fortran) noexcept {
  if (is(fortran, &mpi_fortran_bottom_)) {
    return MPI_BOTTOM;
  }
  return is(fortran, &mpi_fortran_in_place_) ? MPI_IN_PLACE : fortran;
}

[[nodiscard]] inline bool is_unweighted(const void* fortran) noexcept {
  return is(fortran, &mpi_fortran_unweighted_);
}
[[nodiscard]] inline bool is_weights_empty(const void* fortran) noexcept {
  return is(fortran, &mpi_fortran_weights_empty_);
}
[[nodiscard]] inline bool is_argv_null(const void* fortran) noexcept {
  return is(fortran, &mpi_fortran_argv_null_) || is(fortran, &mpi_fortran_argvs_null_);
}
[[nodiscard]] inline bool ignores_errcodes(const void* fortran) noexcept {
  return is(fortran, &mpi_fortran_errcodes_ignore_);
}

#else

[[nodiscard]] inline bool ignores_statuses(const void* fortran) noexcept {
  const auto is_at = [&](MPI_F08_status* const* constant) {
    return constant != nullptr && is(fortran, *constant);
  };
  return is_at(&MPI_F08_STATUS_IGNORE) || is_at(&MPI_F08_STATUSES_IGNORE);
}

/// Nothing to replace: mpi_f08's procedures with choice buffers call C functions, with C's
/// constants.
[[nodiscard]] inline void* buffer(void* fortran) noexcept { return fortran; }

[[nodiscard]] inline bool is_unweighted(const void* fortran) noexcept {
  return is(fortran, &strake_f08_unweighted);
}
[[nodiscard]] inline bool is_weights_empty(const void* fortran) noexcept {
  return is(fortran, &strake_f08_weights_empty);
}
[[nodiscard]] inline bool is_argv_null(const void* fortran) noexcept {
  return is(fortran, &strake_f08_argv_null) || is(fortran, &strake_f08_argvs_null);
}
[[nodiscard]] inline bool ignores_errcodes(const void* fortran) noexcept {
  return is(fortran, &strake_f08_errcodes_ignore);
}

#endif

/// A list of integers; the weights of a graph may be MPI_UNWEIGHTED or MPI_WEIGHTS_EMPTY.
[[nodiscard]] inline const int* integers(void* fortran) noexcept {
  if (is_unweighted(fortran)) {
    return MPI_UNWEIGHTED;
  }
  return is_weights_empty(fortran) ? MPI_WEIGHTS_EMPTY : static_cast<const int*>(fortran);
}

}  // namespace strake::interpose::fortran
