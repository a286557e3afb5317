/// \file  A program of sessions alone: there is no MPI_COMM_WORLD. Its threads are those that the
/// session was given: one waits for an answer that the peer gives when it has what another has
/// sent.
#include <chrono>
#include <thread>

#include "described.hpp"

#ifdef MPI_SESSION_NULL  // not before MPI 4 and Open MPI 5
namespace {

void answered_in_another_thread(MPI_Comm comm) {
  check::section("Recv in a thread of the answer to another's Isend");
  const Described type = describe::medium();
  for (std::uint64_t turn = 0; turn < 20; ++turn) {
    Image image(type, 1);
    if (check::rank() == 0) {
      image.fill(turn);
      std::thread other(
          [&] { CHECK_MPI(MPI_Recv(nullptr, 0, MPI_INT, 1, 9, comm, MPI_STATUS_IGNORE)); });
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      MPI_Request request = MPI_REQUEST_NULL;
      CHECK_MPI(MPI_Isend(image.data(), 1, type.type, 1, 5, comm, &request));
      other.join();
      CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (check::rank() == 1) {
      CHECK_MPI(MPI_Recv(image.data(), 1, type.type, 0, 5, comm, MPI_STATUS_IGNORE));
      CHECK(image.holds(turn));
      CHECK_MPI(MPI_Send(nullptr, 0, MPI_INT, 0, 9, comm));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Info_free(&info);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_create_from_group(group, "strake", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  check::started(comm, argc, argv);
  answered_in_another_thread(comm);
  check::verdict(comm);
  MPI_Comm_disconnect(&comm);
  MPI_Session_finalize(&session);
  return 0;
}
#else
int main(int argc, char** argv) {
  check::init(argc, argv);
  return check::finish();
}
#endif
