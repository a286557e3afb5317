// A program that resets its device, as some do at their end: messages in host memory go on, and one
// in the device's memory succeeds or fails.
#include <cstdlib>
#include <utility>

#include "described.hpp"

namespace {

void exchange(const Described& type, int turns) {
  const int peer = 1 - check::rank();
  Image out(type, 1), in(type, 1);
  for (int turn = 0; turn < turns; ++turn) {
    out.fill(static_cast<std::uint64_t>(turn + check::rank()));
    in.poison();
    MPI_Request requests[2];
    CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, peer, 1, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Isend(out.data(), 1, type.type, peer, 1, MPI_COMM_WORLD, &requests[1]));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in.holds(static_cast<std::uint64_t>(turn + peer)));
  }
}

/// To itself, so that nobody waits for a message that can't be sent.
void try_again(const Described& type) {
  Image out(type, 1), in(type, 1);
  out.fill(7);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const bool lost = test_memory::on_device() && test_memory::device() >= 0 &&
                    std::getenv("TEST_PRELOADED") != nullptr;
  MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  if (lost) {
    CHECK(MPI_Irecv(in.data(), 1, type.type, 0, 1, MPI_COMM_SELF, &receive) != MPI_SUCCESS);
    CHECK(MPI_Isend(out.data(), 1, type.type, 0, 1, MPI_COMM_SELF, &send) != MPI_SUCCESS);
    return;
  }
  CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, 0, 1, MPI_COMM_SELF, &receive));
  CHECK_MPI(MPI_Isend(out.data(), 1, type.type, 0, 1, MPI_COMM_SELF, &send));
  CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  CHECK(in.holds(7));
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  Described type = describe::large();
  check::section("before");
  exchange(type, 6);
  MPI_Barrier(MPI_COMM_WORLD);
  test_memory::reset_device();
  MPI_Barrier(MPI_COMM_WORLD);
  check::section("in host memory");
  const bool device = std::exchange(test_memory::on_device(), false);
  exchange(type, 6);
  check::section("on the device again");
  test_memory::on_device() = device;
  try_again(type);
  Described fresh = describe::commit(describe::vector(300, 5, 11, describe::integer()));
  try_again(fresh);
  fresh.release();
  type.release();
  return check::finish();
}
