#include "interpose/errors.hpp"

#include <new>

#include "mpi/real_mpi.hpp"
#include "mpi/world.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::interpose {

using mpi::real_mpi;

int raise(MPI_Comm comm, int code) {
  if (comm == MPI_COMM_NULL) comm = MPI_COMM_WORLD;
  if (comm != MPI_COMM_WORLD || mpi::in_world()) real_mpi().MPI_Comm_call_errhandler(comm, code);
  return code;
}

int caught(MPI_Comm comm) {
  try {
    throw;
  } catch (const MpiError& error) {
    return error.code();  // it has been raised already
  } catch (const OutOfMemory& error) {
    log::warn("{}", error.what());
    return raise(comm, MPI_ERR_NO_MEM);
  } catch (const Error& error) {
    log::warn("{}", error.what());
    return raise(comm, MPI_ERR_OTHER);
  } catch (const std::bad_alloc& error) {
    log::warn("{}", error.what());
    return raise(comm, MPI_ERR_NO_MEM);
  }
}

int class_of(int code) {
  int error_class = code;
  real_mpi().MPI_Error_class(code, &error_class);
  return error_class;
}

bool refused(int code) {
  if (code == MPI_SUCCESS) return false;
  const int error_class = class_of(code);
  return error_class == MPI_ERR_REQUEST || error_class == MPI_ERR_ARG ||
         error_class == MPI_ERR_COUNT;
}

bool in_status(int code) { return code != MPI_SUCCESS && class_of(code) == MPI_ERR_IN_STATUS; }

}  // namespace strake::interpose
