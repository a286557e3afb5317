/// \file  Collective calls whose ranks disagree on sizes, or that are wrong on all ranks: errors
/// come by the communicator's handler, nothing is written outside the receive's own bytes, no call
/// hangs, and the next call is right. --persistent: persistent calls too; MPICH's own lose hold of
/// datatypes.
#include <cstddef>
#include <type_traits>
#include <vector>

#include "described.hpp"
#include "handler_calls.hpp"

namespace {

enum class Form { Blocking, Nonblocking, Persistent };

#if MPI_VERSION >= 4
constexpr auto kMakeAlltoallw = MPI_Alltoallw_init;
constexpr auto kMakeNeighborAlltoallw = MPI_Neighbor_alltoallw_init;
#else
constexpr auto kMakeAlltoallw = nullptr;
constexpr auto kMakeNeighborAlltoallw = nullptr;
#endif

/// One block from each rank to the next one, by MPI_Neighbor_alltoallw on a ring with so many edges
/// between two ranks, or by MPI_Alltoallw (no edges). On the other edges go numbers; all other
/// blocks of MPI_Alltoallw are empty.
class Ring {
 public:
  Ring(MPI_Comm comm, std::size_t edges) : edges_(edges) {
    if (edges > 0) {
      const std::vector<int> from(edges, check::previous()), to(edges, check::next());
      const std::vector<int> weights(edges, 1);
      const int degree = static_cast<int>(edges);
      CHECK_MPI(MPI_Dist_graph_create_adjacent(comm, degree, from.data(), weights.data(), degree,
                                               to.data(), weights.data(), MPI_INFO_NULL, 0,
                                               &comm_));
    } else {
      CHECK_MPI(MPI_Comm_dup(comm, &comm_));
    }
  }
  ~Ring() { MPI_Comm_free(&comm_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  [[nodiscard]] MPI_Comm comm() const { return comm_; }

  int call(Form form, Image& out, int sent, Image& in, int room, const Described& type) {
    return edges_ > 0 ? of_neighbours(form, out, sent, in, room, type)
                      : of_all(form, out, sent, in, room, type);
  }

 private:
  int of_all(Form form, Image& out, int sent, Image& in, int room, const Described& type) {
    const auto ranks = static_cast<std::size_t>(check::size());
    std::vector<int> counts(ranks, 0), rooms(ranks, 0);
    const std::vector<int> places(ranks, 0);
    const std::vector<MPI_Datatype> types(ranks, type.type);
    counts[static_cast<std::size_t>(check::next())] = sent;
    rooms[static_cast<std::size_t>(check::previous())] = room;
    return run(form, MPI_Alltoallw, MPI_Ialltoallw, kMakeAlltoallw, out.data(), counts.data(),
               places.data(), types.data(), in.data(), rooms.data(), places.data(), types.data());
  }

  int of_neighbours(Form form, Image& out, int sent, Image& in, int room, const Described& type) {
    std::vector<int> counts(edges_, 1), rooms(edges_, 1);
    std::vector<MPI_Datatype> types(edges_, MPI_INT);
    std::vector<MPI_Aint> from(edges_, 0), to(edges_, 0);
    counts[0] = sent;
    rooms[0] = room;
    types[0] = type.type;
    // From and to MPI_BOTTOM: the numbers lie elsewhere.
    std::vector<int> numbers(edges_);
    for (std::size_t i = 0; i < edges_; ++i) numbers[i] = static_cast<int>(i) + 10 * check::rank();
    std::vector<int> got(edges_);
    CHECK_MPI(MPI_Get_address(out.data(), from.data()));
    CHECK_MPI(MPI_Get_address(in.data(), to.data()));
    for (std::size_t i = 1; i < edges_; ++i) {
      CHECK_MPI(MPI_Get_address(numbers.data() + i, &from[i]));
      CHECK_MPI(MPI_Get_address(got.data() + i, &to[i]));
    }
    const int code = run(form, MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw,
                         kMakeNeighborAlltoallw, MPI_BOTTOM, counts.data(), from.data(),
                         types.data(), MPI_BOTTOM, rooms.data(), to.data(), types.data());
    if (code == MPI_SUCCESS && type.type != MPI_DATATYPE_NULL && sent > 0)
      for (std::size_t i = 1; i < edges_; ++i)
        CHECK_EQ(got[i], static_cast<int>(i) + 10 * check::previous());
    return code;
  }

  template <typename Blocking, typename Nonblocking, typename Make, typename... Args>
  int run(Form form, Blocking blocking, Nonblocking nonblocking, [[maybe_unused]] Make make,
          Args... args) {
    if (form == Form::Blocking) return blocking(args..., comm_);
    MPI_Request request = MPI_REQUEST_NULL;
    if constexpr (!std::is_null_pointer_v<Make>) {
      if (form == Form::Persistent) {
        const int made = make(args..., comm_, MPI_INFO_NULL, &request);
        if (made != MPI_SUCCESS) return made;
        CHECK_MPI(MPI_Start(&request));
        const int done = MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_MPI(MPI_Request_free(&request));
        return done;
      }
    }
    const int code = nonblocking(args..., comm_, &request);
    if (code != MPI_SUCCESS) return code;
    const int ended = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(request == MPI_REQUEST_NULL);
    return ended;
  }

  std::size_t edges_;
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

void on(MPI_Comm comm, std::size_t edges, const std::vector<Form>& all) {
  Ring ring(comm, edges);
  CHECK_MPI(MPI_Comm_set_errhandler(ring.comm(), MPI_ERRORS_RETURN));
  for (const Described& type :
       {describe::byte(), describe::small(), describe::medium(), describe::large()})
    for (const Form form : all) {
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
  std::vector<Form> all = {Form::Blocking, Form::Nonblocking};
  if (argc > 1 && MPI_VERSION >= 4) all.push_back(Form::Persistent);
  // The stand-in for a device reaches one allocation from an address.
  const std::vector<std::size_t> edges_of_rings =
      test_memory::on_device() ? std::vector<std::size_t>{1, 0} : std::vector<std::size_t>{1, 3, 0};
  for (const std::size_t edges : edges_of_rings) on(MPI_COMM_WORLD, edges, all);
  return check::finish();
}
