/* Extensions of MPI that a program may call whether it runs under `strake run` or not. C and C++,
 * any MPI library; nothing is linked. In Fortran: strake/mpix.f90. */
#ifndef STRAKE_MPIX_H
#define STRAKE_MPIX_H

#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

typedef int (*strake_mpix_function)(MPI_Datatype* type, MPI_Comm comm);

/* Strake's, where it is loaded; the null pointer means the global scope. */
static inline strake_mpix_function strake_mpix_find(const char* name) {
  strake_mpix_function found = NULL;
  void* const address = dlsym(NULL, name);
  if (address != NULL) *(void**)(&found) = address;
  return found;
}

/* Commits a datatype, as MPI_Type_commit does, that the ranks of a communicator will exchange: the
 * ranks of a node that share memory find each other, and each has the type decoded and the copies
 * of one element compiled, so that the first message is as quick as later ones. Collective over
 * `comm`, an intracommunicator; all ranks give a type of the same layout. Errors: MPI_ERR_TYPE, on
 * all ranks, if the layouts differ, or one can't be committed (others are committed then);
 * MPI_ERR_COMM; MPI_ERR_ARG. Cost: an allreduce of 48 bytes, O(size of the type's description), and
 * four barriers until all ranks have found each other. Without Strake: MPI_Type_commit. Source:
 * FALCON-X 4.3. */
static inline int MPIX_Type_commit_comm(MPI_Datatype* type, MPI_Comm comm) {
  const strake_mpix_function found = strake_mpix_find("strake_type_commit_comm");
  return found != NULL ? found(type, comm) : MPI_Type_commit(type);
}

/* Frees a datatype that MPIX_Type_commit_comm has committed on that communicator. Collective over
 * it. Errors: MPI_ERR_TYPE, on all ranks, if it was not (nothing is freed then); MPI_ERR_COMM;
 * MPI_ERR_ARG. Without Strake: MPI_Type_free. */
static inline int MPIX_Type_free_comm(MPI_Datatype* type, MPI_Comm comm) {
  const strake_mpix_function found = strake_mpix_find("strake_type_free_comm");
  return found != NULL ? found(type, comm) : MPI_Type_free(type);
}

#endif
