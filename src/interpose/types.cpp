// The wrappers of MPI's datatype calls. Strake knows a datatype from commit or dup until it is
// freed.
#include "mpi/types.hpp"

#include "interpose/boundary.hpp"
#include "mpi/real_mpi.hpp"

using namespace strake::interpose;
namespace mpi = strake::mpi;

namespace {

/// Adds a type that may be used from now on, if the call that returned it succeeded.
int usable(int code, const MPI_Datatype* type) {
  if (code == MPI_SUCCESS && t_depth == 0 && !g_disabled) {
    const Inside inside;
    mpi::add_type(*type);
  }
  return code;
}

}  // namespace

int calls::MPI_Type_commit(MPI_Datatype* type) {
  return usable(real_mpi().MPI_Type_commit(type), type);
}

int calls::MPI_Type_dup(MPI_Datatype type, MPI_Datatype* made) {
  const int code = real_mpi().MPI_Type_dup(type, made);
  if (code == MPI_SUCCESS && !g_disabled) mpi::add_duplicate(type, *made);
  return code;
}

/// \{ Predefined types, which need no commit.
int calls::MPI_Type_create_f90_real(int digits, int range, MPI_Datatype* type) {
  return usable(real_mpi().MPI_Type_create_f90_real(digits, range, type), type);
}

int calls::MPI_Type_create_f90_complex(int digits, int range, MPI_Datatype* type) {
  return usable(real_mpi().MPI_Type_create_f90_complex(digits, range, type), type);
}

int calls::MPI_Type_create_f90_integer(int range, MPI_Datatype* type) {
  return usable(real_mpi().MPI_Type_create_f90_integer(range, type), type);
}
/// \}

int calls::MPI_Type_free(MPI_Datatype* type) {
  // First, since the MPI library may give the freed handle to another thread's type at once.
  if (type != nullptr && !g_disabled) mpi::remove_type(*type);
  return real_mpi().MPI_Type_free(type);
}

// MPICH returns a member's own handle, with one more reference, which the caller frees. (Open MPI
// returns a copy, which Strake does not know.)
int calls::MPI_Type_get_contents(MPI_Datatype type, int max_ints, int max_addresses, int max_types,
                                 int ints[], MPI_Aint addresses[], MPI_Datatype types[]) {
  const int code = real_mpi().MPI_Type_get_contents(type, max_ints, max_addresses, max_types, ints,
                                                    addresses, types);
  int ints_given = 0, addresses_given = 0, given = 0, combiner = 0;
  if (code == MPI_SUCCESS && !g_disabled &&
      real_mpi().MPI_Type_get_envelope(type, &ints_given, &addresses_given, &given, &combiner) ==
          MPI_SUCCESS) {
    for (int i = 0; i < given; ++i) mpi::add_reference(types[i]);
  }
  return code;
}

#if STRAKE_MPI_LARGE_COUNTS
int calls::MPI_Type_get_contents_c(MPI_Datatype type, MPI_Count max_ints, MPI_Count max_addresses,
                                   MPI_Count max_counts, MPI_Count max_types, int ints[],
                                   MPI_Aint addresses[], MPI_Count counts[], MPI_Datatype types[]) {
  const int code = real_mpi().MPI_Type_get_contents_c(type, max_ints, max_addresses, max_counts,
                                                      max_types, ints, addresses, counts, types);
  MPI_Count ints_given = 0, addresses_given = 0, counts_given = 0, given = 0;
  int combiner = 0;
  if (code == MPI_SUCCESS && !g_disabled &&
      real_mpi().MPI_Type_get_envelope_c(type, &ints_given, &addresses_given, &counts_given, &given,
                                         &combiner) == MPI_SUCCESS) {
    for (MPI_Count i = 0; i < given; ++i) mpi::add_reference(types[i]);
  }
  return code;
}
#endif
