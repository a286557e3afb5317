// MPI_Alloc_mem, whose memory other ranks can map: their receives copy messages from there as they
// lie.
#include "exchange/transport/shared/shm_endpoint.hpp"
#include "interpose/boundary.hpp"
#include "memory/sharing/arenas.hpp"

using strake::exchange::shared::ShmEndpoint;
using strake::interpose::real_mpi;
using strake::sharing::Arenas;

// A call with hints (`info`) goes to the MPI library, which alone knows what they ask for.
int strake::interpose::calls::MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* base) {
  if (ShmEndpoint::get() != nullptr && info == MPI_INFO_NULL && base != nullptr) {
    if (void* const address = Arenas::get().allocate(size)) {
      *static_cast<void**>(base) = address;
      return MPI_SUCCESS;
    }
  }
  return real_mpi().MPI_Alloc_mem(size, info, base);
}

int strake::interpose::calls::MPI_Free_mem(void* base) {
  return Arenas::get().release(base) ? MPI_SUCCESS : real_mpi().MPI_Free_mem(base);
}
