/// \file  Start and end: thread levels, the calls that MPI allows before its start and after its
/// end, messages while MPI_Finalize runs, and a send that is still on its way when its rank
/// finalizes. init <single|funneled|serialized|multiple|plain>
#include "described.hpp"

namespace {

void allowed_any_time(const char* when, int initialized, int finalized) {
  int flag = -1, major = 0, minor = 0, length = 0;
  CHECK_MPI(MPI_Initialized(&flag));
  CHECK_EQ(flag, initialized);
  CHECK_MPI(MPI_Finalized(&flag));
  CHECK_EQ(flag, finalized);
  CHECK_MPI(MPI_Get_version(&major, &minor));
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  CHECK_MPI(MPI_Get_library_version(text, &length));
  CHECK(length > 0);
  if (initialized && !finalized) check::note("%s: MPI %d.%d", when, major, minor);
}

/// Called by MPI_Finalize, first of all: MPI still works.
int on_finalize(MPI_Comm, int, void*, void*) {
  {
    const Described type = describe::large();
    Image out(type, 1), in(type, 1);
    out.fill(1);
    CHECK_MPI(MPI_Sendrecv(out.data(), 1, type.type, 0, 1, in.data(), 1, type.type, 0, 1,
                           MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK(in.holds(1));
  }
  if (check::state().failures != 0) _exit(3);
  return MPI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string level = argc > 1 ? argv[1] : "plain";
  allowed_any_time("before", 0, 0);
  if (level == "plain") {
    CHECK_MPI(MPI_Init(nullptr, nullptr));
  } else {
    const int wanted = level == "single"       ? MPI_THREAD_SINGLE
                       : level == "funneled"   ? MPI_THREAD_FUNNELED
                       : level == "serialized" ? MPI_THREAD_SERIALIZED
                                               : MPI_THREAD_MULTIPLE;
    int provided = -1;
    CHECK_MPI(MPI_Init_thread(&argc, &argv, wanted, &provided));
    check::note("asked for %d, got %d", wanted, provided);
  }
  check::started(1, argv);
  int queried = -1, main_thread = 0;
  CHECK_MPI(MPI_Query_thread(&queried));
  CHECK_MPI(MPI_Is_thread_main(&main_thread));
  check::note("level %d, main thread %d", queried, main_thread);
  allowed_any_time("between", 1, 0);

  int key = MPI_KEYVAL_INVALID;
  CHECK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &key, nullptr));
  CHECK_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr));
  CHECK_MPI(MPI_Comm_free_keyval(&key));
  check::verdict();

  check::section("a send whose request is freed, then MPI_Finalize");
  std::unique_ptr<Image> image;
  {
    const Described type = describe::medium();
    image = std::make_unique<Image>(type, 1);
    if (check::rank() == 0 && check::size() > 1) {
      image->fill(2);
      MPI_Request request = MPI_REQUEST_NULL;
      CHECK_MPI(MPI_Isend(image->data(), 1, type.type, 1, 2, MPI_COMM_WORLD, &request));
      CHECK_MPI(MPI_Request_free(&request));
    } else if (check::rank() == 1) {
      usleep(50000);  // rank 0 is in MPI_Finalize by then
      CHECK_MPI(MPI_Recv(image->data(), 1, type.type, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(image->holds(2));
    }
  }
  check::section("MPI_Finalize");
  if (check::state().failures != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  allowed_any_time("after", 1, 1);
  return check::state().failures == 0 ? 0 : 1;
}
