/// \file  Graphs that are wrong on one rank: with the interposer on several nodes, all ranks get
/// the error, none waits, and the communicator works on.
#include <cstdio>
#include <functional>
#include <vector>

#include "check.hpp"

namespace {

/// All ranks name a ring, but one is changed by `spoil`.
struct Ring {
  std::vector<int> from{check::previous()};
  std::vector<int> to{check::next()};
  std::vector<int> weights{1};
  bool lacks_weights = false;
};

void refused(const char* what, const std::function<void(Ring&)>& spoil) {
  Ring ring;
  if (check::rank() == check::size() - 1) spoil(ring);
  const int* const weights = ring.lacks_weights ? MPI_WEIGHTS_EMPTY : ring.weights.data();
  MPI_Comm comm = MPI_COMM_NULL;
  const int code = MPI_Dist_graph_create_adjacent(
      MPI_COMM_WORLD, static_cast<int>(ring.from.size()), ring.from.data(), weights,
      static_cast<int>(ring.to.size()), ring.to.data(), weights, MPI_INFO_NULL, 1, &comm);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_ARG);
  CHECK(comm == MPI_COMM_NULL);
  if (error_class != MPI_ERR_ARG)
    std::printf("rank %d: %s: class %d\n", check::rank(), what, error_class);
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

void refused_by_sources(int source, int degree, int destination, int weight) {
  const int n = check::rank() == 0 ? 1 : 0;
  MPI_Comm comm = MPI_COMM_NULL;
  const int code = MPI_Dist_graph_create(MPI_COMM_WORLD, n, &source, &degree, &destination, &weight,
                                         MPI_INFO_NULL, 1, &comm);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_ARG);
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/// Ranks that don't agree whether they may be reordered keep their numbers, and none waits.
void kept_if_ranks_differ() {
  const Ring ring;
  MPI_Comm comm = MPI_COMM_NULL;
  const int code = MPI_Dist_graph_create_adjacent(
      MPI_COMM_WORLD, 1, ring.from.data(), ring.weights.data(), 1, ring.to.data(),
      ring.weights.data(), MPI_INFO_NULL, check::rank() == 1 ? 0 : 1, &comm);
  CHECK(code == MPI_SUCCESS);
  int rank = -1;
  CHECK_MPI(MPI_Comm_rank(comm, &rank));
  CHECK(rank == check::rank());
  CHECK_MPI(MPI_Comm_free(&comm));
}

/// A neighbour that there is not is no error.
void no_neighbour() {
  const int none = MPI_PROC_NULL;
  const int next = check::next();
  const int previous = check::previous();
  const int to[] = {none, next};
  const int from[] = {previous, none};
  MPI_Comm comm = MPI_COMM_NULL;
  const int code = MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, MPI_UNWEIGHTED, 2, to,
                                                  MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm);
  // Open MPI takes it in its other call alone.
  if (code == MPI_SUCCESS) CHECK_MPI(MPI_Comm_free(&comm));
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  CHECK(error_class != MPI_ERR_ARG || code == MPI_SUCCESS);
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  check::section("adjacent edges");
  refused("a rank that there is not", [](Ring& ring) { ring.to[0] = check::size(); });
  refused("a negative rank", [](Ring& ring) { ring.from[0] = -7; });
  refused("a negative weight", [](Ring& ring) { ring.weights[0] = -1; });
  refused("an edge that its receiver does not name", [](Ring& ring) { ring.from[0] = 0; });
  refused("an edge named twice", [](Ring& ring) {
    ring.to.push_back(ring.to[0]);
    ring.from.push_back(ring.from[0]);
    ring.weights.push_back(1);
  });
  refused("no weights", [](Ring& ring) { ring.lacks_weights = true; });
  check::section("named edges");
  refused_by_sources(0, 1, check::size(), 1);
  refused_by_sources(-7, 1, 0, 1);
  refused_by_sources(0, -1, 0, 1);
  refused_by_sources(0, 1, 1, -5);
  check::section("ranks that differ");
  kept_if_ranks_differ();
  check::section("neighbours that there are not");
  no_neighbour();
  return check::finish();
}
