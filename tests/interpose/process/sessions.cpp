/// \file  A program that uses only sessions: there is no MPI_COMM_WORLD, and the thread level is
/// that of the session.
#include "two_threads.hpp"

#ifdef MPI_SESSION_NULL  // not before MPI 4 and Open MPI 5
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
