#include "interpose/boundary.hpp"

#include <new>

#include "mpi/world.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::interpose {

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

}  // namespace strake::interpose
