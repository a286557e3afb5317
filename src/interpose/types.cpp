// Datatypes: known from commit or dup until they are freed.
#include "exchange/types.hpp"

#include "interpose/boundary.hpp"

using namespace strake::interpose;
namespace exchange = strake::exchange;

STRAKE_MPI int MPI_Type_commit(MPI_Datatype* type) {
  const int code = next().MPI_Type_commit(type);
  if (code == MPI_SUCCESS && t_depth == 0 && !g_disabled) {
    const Inside inside;
    exchange::add_type(*type);
  }
  return code;
}

STRAKE_MPI int MPI_Type_dup(MPI_Datatype type, MPI_Datatype* made) {
  const int code = next().MPI_Type_dup(type, made);
  if (code == MPI_SUCCESS && !g_disabled) exchange::add_duplicate(type, *made);
  return code;
}

STRAKE_MPI int MPI_Type_free(MPI_Datatype* type) {
  // Before the system may give the handle to another thread's type.
  if (type != nullptr && !g_disabled) exchange::remove_type(*type);
  return next().MPI_Type_free(type);
}
