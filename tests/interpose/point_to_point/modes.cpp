/// \file  Send modes with derived types: buffered (what the buffer holds, detaching, running out),
/// ready, and synchronous ones, which complete only when they are matched.
#include "described.hpp"

namespace {

constexpr int kMessages = 6;

/// Bsend and Ibsend fill a buffer of exactly the size that MPI_Pack_size promises; the data may
/// change at once.
void buffered(const Described& type) {
  check::section("Bsend, Ibsend");
  int bytes = 0;
  CHECK_MPI(MPI_Pack_size(1, type.type, MPI_COMM_WORLD, &bytes));
  std::vector<char> attached(static_cast<std::size_t>(kMessages * (bytes + MPI_BSEND_OVERHEAD)));
  Image out(type, 1), in(type, 1);
  for (int turn = 0; turn < 3; ++turn) {  // the buffer is as good as new after a detach
    CHECK_MPI(MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())));
    for (int i = 0; i < kMessages; ++i) {
      out.fill(static_cast<std::uint64_t>(10 * turn + i));
      if (i % 2 == 0) {
        CHECK_MPI(MPI_Bsend(out.data(), 1, type.type, check::next(), 1, MPI_COMM_WORLD));
      } else {
        MPI_Request request = MPI_REQUEST_NULL;
        CHECK_MPI(MPI_Ibsend(out.data(), 1, type.type, check::next(), 1, MPI_COMM_WORLD, &request));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));  // local: nobody receives yet
      }
      out.poison();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kMessages; ++i) {
      in.poison();
      CHECK_MPI(MPI_Recv(in.data(), 1, type.type, check::previous(), 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE));
      CHECK(in.holds(static_cast<std::uint64_t>(10 * turn + i)));
    }
    void* buffer = nullptr;
    int size = 0;
    CHECK_MPI(MPI_Buffer_detach(&buffer, &size));
    CHECK_EQ(buffer, static_cast<void*>(attached.data()));
    CHECK_EQ(size, static_cast<int>(attached.size()));
  }
}

/// Detaching waits until the messages have left: the receiver gets them though the buffer is
/// overwritten.
void detach_waits() {
  check::section("Buffer_detach waits");
  const Described type = describe::large();
  int bytes = 0;
  CHECK_MPI(MPI_Pack_size(1, type.type, MPI_COMM_WORLD, &bytes));
  std::vector<char> attached(static_cast<std::size_t>(bytes + MPI_BSEND_OVERHEAD));
  Image out(type, 1), in(type, 1);
  out.fill(5);
  MPI_Request receive = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, check::previous(), 2, MPI_COMM_WORLD, &receive));
  CHECK_MPI(MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())));
  CHECK_MPI(MPI_Bsend(out.data(), 1, type.type, check::next(), 2, MPI_COMM_WORLD));
  void* buffer = nullptr;
  int size = 0;
  CHECK_MPI(MPI_Buffer_detach(&buffer, &size));
  std::fill(attached.begin(), attached.end(), 'x');
  CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  CHECK(in.holds(5));
}

/// Nothing attached: an error of the library's class, and nothing sent. To oneself alone: after a
/// failed Bsend, Open MPI 4.1.4 delivers nothing any more between those two ranks on that
/// communicator.
void out_of_buffer() {
  check::section("Bsend with no buffer");
  CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  const Described type = describe::large();
  Image out(type, 1);
  const int code = MPI_Bsend(out.data(), 1, type.type, 0, 3, MPI_COMM_SELF);
  check::note("Bsend with no buffer: %s", check::class_name(code).c_str());
  int flag = 1;
  CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, 3, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 0);
}

void ready(const Described& type) {
  check::section("Rsend, Irsend");
  Image out(type, 1), in[2] = {{type, 1}, {type, 1}};
  out.fill(6);
  MPI_Request receives[2], send = MPI_REQUEST_NULL;
  for (int i = 0; i < 2; ++i)
    CHECK_MPI(MPI_Irecv(in[i].data(), 1, type.type, check::previous(), 4 + i, MPI_COMM_WORLD,
                        &receives[i]));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_Rsend(out.data(), 1, type.type, check::next(), 4, MPI_COMM_WORLD));
  CHECK_MPI(MPI_Irsend(out.data(), 1, type.type, check::next(), 5, MPI_COMM_WORLD, &send));
  CHECK_MPI(MPI_Waitall(2, receives, MPI_STATUSES_IGNORE));
  CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  for (Image& image : in) CHECK(image.holds(6));
}

/// A synchronous send is not complete before its receive has started, however small it is.
void synchronous(const Described& type, bool persistent) {
  check::section(persistent ? "Ssend_init completes when matched"
                            : "Issend completes when matched");
  Image out(type, 1), in(type, 1);
  out.fill(7);
  MPI_Request send = MPI_REQUEST_NULL;
  if (persistent) {
    CHECK_MPI(MPI_Ssend_init(out.data(), 1, type.type, check::next(), 6, MPI_COMM_WORLD, &send));
    CHECK_MPI(MPI_Start(&send));
  } else {
    CHECK_MPI(MPI_Issend(out.data(), 1, type.type, check::next(), 6, MPI_COMM_WORLD, &send));
  }
  for (int i = 0; i < 200; ++i) {
    int flag = 1;
    CHECK_MPI(MPI_Request_get_status(send, &flag, MPI_STATUS_IGNORE));
    CHECK_EQ(flag, 0);
    CHECK_MPI(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
    CHECK_EQ(flag, 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(
      MPI_Recv(in.data(), 1, type.type, check::previous(), 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  CHECK(in.holds(7));
  if (persistent) CHECK_MPI(MPI_Request_free(&send));
}

/// A blocking synchronous send returns only after its receive began: what the receiver sent before
/// that is there.
void blocking_synchronous(const Described& type) {
  check::section("Ssend");
  if (check::size() < 2 || check::rank() > 1) return;
  Image buffer(type, 1);
  if (check::rank() == 0) {
    buffer.fill(8);
    MPI_Request before = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Irecv(nullptr, 0, MPI_INT, 1, 8, MPI_COMM_WORLD, &before));
    CHECK_MPI(MPI_Ssend(buffer.data(), 1, type.type, 1, 7, MPI_COMM_WORLD));
    int flag = 0;
    for (int i = 0; i < 1000 && !flag; ++i) CHECK_MPI(MPI_Test(&before, &flag, MPI_STATUS_IGNORE));
    CHECK_EQ(flag, 1);
    CHECK_MPI(MPI_Wait(&before, MPI_STATUS_IGNORE));
  } else {
    usleep(20000);  // long enough for a send that does not wait to return
    CHECK_MPI(MPI_Ssend(nullptr, 0, MPI_INT, 0, 8, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Recv(buffer.data(), 1, type.type, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(buffer.holds(8));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  for (const Described& type : {describe::small(), describe::medium(), describe::large()}) {
    buffered(type);
    ready(type);
    synchronous(type, false);
    synchronous(type, true);
    blocking_synchronous(type);
  }
  detach_waits();
  out_of_buffer();
  return check::finish();
}
