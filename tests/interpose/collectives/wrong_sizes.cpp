/// \file  Collective calls whose ranks disagree on sizes, or that are wrong on all ranks: errors
/// come by the communicator's handler, nothing is written outside the receive's own bytes, no call
/// hangs, and the next call is right.
#include "described.hpp"
#include "handler_calls.hpp"

namespace {

enum class Form { Blocking, Nonblocking };

/// One block from each rank to the next one, by MPI_Neighbor_alltoallw on a ring, or by
/// MPI_Alltoallw, where all other blocks are empty.
class Ring {
 public:
  Ring(MPI_Comm comm, bool of_neighbours) : of_neighbours_(of_neighbours) {
    const int from = check::previous(), to = check::next(), weight = 1;
    if (of_neighbours) {
      CHECK_MPI(MPI_Dist_graph_create_adjacent(comm, 1, &from, &weight, 1, &to, &weight,
                                               MPI_INFO_NULL, 0, &comm_));
    } else {
      CHECK_MPI(MPI_Comm_dup(comm, &comm_));
    }
  }
  ~Ring() { MPI_Comm_free(&comm_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  [[nodiscard]] MPI_Comm comm() const { return comm_; }

  int call(Form form, Image& out, int sent, Image& in, int room, const Described& type) {
    const auto ranks = static_cast<std::size_t>(of_neighbours_ ? 1 : check::size());
    std::vector<int> counts(ranks, 0), rooms(ranks, 0), places(ranks, 0);
    const std::vector<MPI_Datatype> types(ranks, type.type);
    counts[of_neighbours_ ? 0 : static_cast<std::size_t>(check::next())] = sent;
    rooms[of_neighbours_ ? 0 : static_cast<std::size_t>(check::previous())] = room;
    if (of_neighbours_) {
      const std::vector<MPI_Aint> far(ranks, 0);
      return run(form, MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, out.data(), counts.data(),
                 far.data(), types.data(), in.data(), rooms.data(), far.data(), types.data());
    }
    return run(form, MPI_Alltoallw, MPI_Ialltoallw, out.data(), counts.data(), places.data(),
               types.data(), in.data(), rooms.data(), places.data(), types.data());
  }

 private:
  template <typename Blocking, typename Nonblocking, typename... Args>
  int run(Form form, Blocking blocking, Nonblocking nonblocking, Args... args) {
    if (form == Form::Blocking) return blocking(args..., comm_);
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = nonblocking(args..., comm_, &request);
    if (code != MPI_SUCCESS) return code;
    const int ended = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(request == MPI_REQUEST_NULL);
    return ended;
  }

  bool of_neighbours_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// MPICH's own calls return MPI_SUCCESS for a block that was cut off, or since 5.0 an error of
/// another class; since 4.3 they return MPI_SUCCESS, too, where a handler was called.
#ifdef OPEN_MPI
constexpr bool kTells = true;
#else
constexpr bool kTells = false;
#endif

/// Rank 0 has room for fewer elements than its neighbour sends.
void too_long(Ring& ring, Form form, const Described& type) {
  check::section("a block that is longer than its receive");
  const int room = check::rank() == 0 ? 1 : 3;
  Image out(type, 3), in(type, 3);
  out.fill(7);
  const int code = ring.call(form, out, 3, in, room, type);
  if (check::rank() == 0) {
    if (kTells) CHECK(code != MPI_SUCCESS);
    check_gaps(in, type, room);
  } else {
    CHECK_MPI(code);
    CHECK(in.holds(7));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// All ranks have room for more than comes.
void too_short(Ring& ring, Form form, const Described& type) {
  check::section("a block that is shorter than its receive");
  Image out(type, 1), in(type, 3);
  out.fill(8);
  CHECK_MPI(ring.call(form, out, 1, in, 3, type));
  // A mirror in host memory is copied to the device as a whole.
  if (!test_memory::on_device()) CHECK(in.holds(8, static_cast<std::size_t>(type.size())));
  // The next call has its own sizes.
  Image more(type, 3);
  more.fill(9);
  in.poison();
  CHECK_MPI(ring.call(form, more, 3, in, 3, type));
  CHECK(in.holds(9));
}

void handler_is_called_once(Ring& ring, const Described& type) {
  check::section("an error handler of the communicator");
  MPI_Errhandler counts = MPI_ERRHANDLER_NULL;
  CHECK_MPI(MPI_Comm_create_errhandler(handler_calls::count, &counts));
  CHECK_MPI(MPI_Comm_set_errhandler(ring.comm(), counts));
  Image out(type, 3), in(type, 3);
  out.fill(7);
  handler_calls::g_called = 0;
  const int code = ring.call(Form::Blocking, out, 3, in, check::rank() == 0 ? 1 : 3, type);
  if (kTells) {
    CHECK_EQ(code != MPI_SUCCESS, check::rank() == 0);
    CHECK_EQ(handler_calls::g_called, check::rank() == 0 ? 1 : 0);
  }
  CHECK(handler_calls::g_called <= 1);
  if (handler_calls::g_called > 0) CHECK_EQ(handler_calls::g_where, "another");
  CHECK_MPI(MPI_Comm_set_errhandler(ring.comm(), MPI_ERRORS_RETURN));
  CHECK_MPI(MPI_Errhandler_free(&counts));
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The MPI library says what is wrong with them.
void wrong_arguments(Ring& ring, const Described& type) {
  check::section("arguments that are wrong on all ranks");
  Image out(type, 1), in(type, 1);
  CHECK(ring.call(Form::Blocking, out, -1, in, -1, type) != MPI_SUCCESS);
  Described none;
  CHECK(ring.call(Form::Blocking, out, 1, in, 1, none) != MPI_SUCCESS);
  out.fill(3);
  CHECK_MPI(ring.call(Form::Blocking, out, 1, in, 1, type));
  CHECK(in.holds(3));
}

void on(MPI_Comm comm, bool of_neighbours) {
  Ring ring(comm, of_neighbours);
  CHECK_MPI(MPI_Comm_set_errhandler(ring.comm(), MPI_ERRORS_RETURN));
  for (const Described& type :
       {describe::byte(), describe::small(), describe::medium(), describe::large()})
    for (const Form form : {Form::Blocking, Form::Nonblocking}) {
      too_long(ring, form, type);
      too_short(ring, form, type);
    }
  handler_is_called_once(ring, describe::medium());
  wrong_arguments(ring, describe::medium());
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  on(MPI_COMM_WORLD, true);
  on(MPI_COMM_WORLD, false);
  return check::finish();
}
