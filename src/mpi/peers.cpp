#include "mpi/peers.hpp"

#include <climits>

#include "mpi/real_mpi.hpp"
#include "mpi/world.hpp"
#include "strake/error.hpp"

namespace strake::mpi {

bool is_inter(MPI_Comm comm) {
  constexpr int kUntouched = -1;
  int inter = kUntouched;
  check(real_mpi().MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  if (inter == kUntouched) throw MpiError("this is no communicator", MPI_SUCCESS);
  return inter != 0;
}

bool sendable(const Envelope& peer) {
  if (peer.rank < 0 || peer.tag < 0 || peer.comm == MPI_COMM_NULL) return false;
  const RealMpi& real = real_mpi();
  static const int highest_tag = [&] {
    int* value = nullptr;
    int flag = 0;
    if (in_world())
      real.MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&value), &flag);
    return flag != 0 ? *value : INT_MAX;
  }();
  if (peer.tag > highest_tag) return false;
  int size = 0;
  is_inter(peer.comm) ? real.MPI_Comm_remote_size(peer.comm, &size)
                      : real.MPI_Comm_size(peer.comm, &size);
  return peer.rank < size;
}

}  // namespace strake::mpi
