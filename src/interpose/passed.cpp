// The functions that are always passed on.
#include "interpose/passed.hpp"

#include "exchange/collective/members.hpp"
#include "settings/log.hpp"

namespace strake::interpose {

void communicator_made(MPI_Comm parent, MPI_Comm made) noexcept {
  mpi::name_communicator(parent, made);
  try {
    if (exchange::Members* const members = exchange::Members::of(made))
      members->meet_neighbours(made);
  } catch (const std::exception& error) {
    log::warn("neighbours are not connected: {}", error.what());
  }
}

}  // namespace strake::interpose

#include "interpose/wrappers/passed.hpp"
