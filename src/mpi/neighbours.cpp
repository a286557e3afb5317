#include "mpi/neighbours.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "mpi/quirks.hpp"
#include "mpi/real_mpi.hpp"

namespace strake::mpi {
namespace {

constexpr int kForms = 2;  // persistent calls match as nonblocking ones do
constexpr int kFunctions = 3;

/// Returns how block i of a call comes to `got[i]`, the number of the block that was sent.
Matching matching_of(const std::vector<char>& got) {
  const auto is = [&](const auto& expected) {
    for (std::size_t i = 0; i < got.size(); ++i)
      if (got[i] != static_cast<char>(expected(i))) return false;
    return true;
  };
  if (is([](std::size_t i) { return i; })) return Matching::InOrder;
  if (is([&](std::size_t i) { return got.size() - 1 - i; })) return Matching::Reversed;
  if (is([](std::size_t i) { return i ^ 1U; })) return Matching::ByDirection;
  return Matching::Unknown;
}

/// One call of each kind, a byte a block.
class SelfCalls {
 public:
  SelfCalls(MPI_Comm comm, std::size_t blocks)
      : comm_(comm),
        sent_(blocks),
        counts_(blocks, 1),
        places_(blocks),
        bytes_(blocks),
        types_(blocks, MPI_BYTE) {
    for (std::size_t i = 0; i < blocks; ++i) {
      sent_[i] = static_cast<char>(i);
      places_[i] = static_cast<int>(i);
      bytes_[i] = static_cast<MPI_Aint>(i);
    }
  }
  [[nodiscard]] Matching run(Neighbourhood function, CallForm form) {
    std::vector<char> got(sent_.size(), -1);
    MPI_Request request = MPI_REQUEST_NULL;
    int code = call(function, form, got.data(), request);
    const RealMpi& real = real_mpi();
    if (code == MPI_SUCCESS && request != MPI_REQUEST_NULL)
      code = real.MPI_Wait(&request, MPI_STATUS_IGNORE);
    return code == MPI_SUCCESS ? matching_of(got) : Matching::Unknown;
  }

 private:
  int call(Neighbourhood function, CallForm form, char* got, MPI_Request& request) {
    const RealMpi& real = real_mpi();
    const auto run = [&](auto blocking, auto nonblocking, auto... arguments) {
      return form == CallForm::Blocking ? blocking(arguments..., comm_)
                                        : nonblocking(arguments..., comm_, &request);
    };
    switch (function) {
      case Neighbourhood::Alltoall:
        return run(real.MPI_Neighbor_alltoall, real.MPI_Ineighbor_alltoall, sent_.data(), 1,
                   MPI_BYTE, got, 1, MPI_BYTE);
      case Neighbourhood::Alltoallv:
        return run(real.MPI_Neighbor_alltoallv, real.MPI_Ineighbor_alltoallv, sent_.data(),
                   counts_.data(), places_.data(), MPI_BYTE, got, counts_.data(), places_.data(),
                   MPI_BYTE);
      case Neighbourhood::Alltoallw:
        break;
    }
    return run(real.MPI_Neighbor_alltoallw, real.MPI_Ineighbor_alltoallw, sent_.data(),
               counts_.data(), bytes_.data(), types_.data(), got, counts_.data(), bytes_.data(),
               types_.data());
  }

  MPI_Comm comm_;
  std::vector<char> sent_;
  std::vector<int> counts_;
  std::vector<int> places_;
  std::vector<MPI_Aint> bytes_;
  std::vector<MPI_Datatype> types_;
};

struct Measured {
  Matching cartesian[kFunctions][kForms];
  Matching graph[kFunctions][kForms];
};

void measure(MPI_Comm comm, std::size_t blocks, Matching (&found)[kFunctions][kForms]) {
  const RealMpi& real = real_mpi();
  real.MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  SelfCalls calls(comm, blocks);
  for (int function = 0; function < kFunctions; ++function)
    for (int form = 0; form < kForms; ++form)
      found[function][form] =
          calls.run(static_cast<Neighbourhood>(function), static_cast<CallForm>(form));
  real.MPI_Comm_free(&comm);
}

/// A rank that is its own neighbour twice in each of two dimensions, and by three edges of a graph.
Measured measure_all() {
  const RealMpi& real = real_mpi();
  Measured found{};
  for (auto* table : {&found.cartesian, &found.graph})
    for (auto& row : *table) std::ranges::fill(row, Matching::Unknown);
  constexpr int kOnce[] = {1, 1};
  constexpr int kSelf[] = {0, 0, 0};
  MPI_Comm comm = MPI_COMM_NULL;
  if (real.MPI_Cart_create(MPI_COMM_SELF, 2, kOnce, kOnce, 0, &comm) == MPI_SUCCESS)
    measure(comm, 4, found.cartesian);
  if (real.MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 3, kSelf, MPI_UNWEIGHTED, 3, kSelf,
                                          MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm) == MPI_SUCCESS)
    measure(comm, 3, found.graph);
  return found;
}

Neighbours cartesian_neighbours(MPI_Comm comm) {
  const RealMpi& real = real_mpi();
  int dimensions = 0;
  check(real.MPI_Cartdim_get(comm, &dimensions), "MPI_Cartdim_get");
  Neighbours found;
  found.cartesian = true;
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    int below = MPI_PROC_NULL;
    int above = MPI_PROC_NULL;
    check(real.MPI_Cart_shift(comm, dimension, 1, &below, &above), "MPI_Cart_shift");
    found.sources.insert(found.sources.end(), {below, above});
  }
  found.destinations = found.sources;
  return found;
}

Neighbours graph_neighbours(MPI_Comm comm) {
  const RealMpi& real = real_mpi();
  int rank = 0;
  int count = 0;
  check(real.MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check(real.MPI_Graph_neighbors_count(comm, rank, &count), "MPI_Graph_neighbors_count");
  Neighbours found;
  found.sources.resize(static_cast<std::size_t>(count));
  check(real.MPI_Graph_neighbors(comm, rank, count, found.sources.data()), "MPI_Graph_neighbors");
  found.destinations = found.sources;
  return found;
}

Neighbours dist_graph_neighbours(MPI_Comm comm) {
  const RealMpi& real = real_mpi();
  int in = 0;
  int out = 0;
  int weighted = 0;
  check(real.MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted),
        "MPI_Dist_graph_neighbors_count");
  Neighbours found;
  found.sources.resize(static_cast<std::size_t>(in));
  found.destinations.resize(static_cast<std::size_t>(out));
  std::vector<int> weights(static_cast<std::size_t>(std::max(in, out)));
  int* const source_weights = weighted != 0 ? weights.data() : MPI_UNWEIGHTED;
  std::vector<int> more(weights.size());
  check(real.MPI_Dist_graph_neighbors(comm, in, found.sources.data(), source_weights, out,
                                      found.destinations.data(),
                                      weighted != 0 ? more.data() : MPI_UNWEIGHTED),
        "MPI_Dist_graph_neighbors");
  return found;
}

/// How many of the blocks before i are of the same rank.
std::uint32_t before(const std::vector<int>& ranks, std::size_t i) {
  const auto at = ranks.begin() + static_cast<std::ptrdiff_t>(i);
  return static_cast<std::uint32_t>(std::count(ranks.begin(), at, *at));
}

}  // namespace

std::optional<Neighbours> neighbours_of(MPI_Comm comm) {
  int topology = MPI_UNDEFINED;
  check(real_mpi().MPI_Topo_test(comm, &topology), "MPI_Topo_test");
  if (topology == MPI_CART) return cartesian_neighbours(comm);
  if (topology == MPI_GRAPH) return graph_neighbours(comm);
  if (topology == MPI_DIST_GRAPH) return dist_graph_neighbours(comm);
  return std::nullopt;
}

Matching matching(Neighbourhood function, CallForm form, bool cartesian) {
  static const Measured measured = measure_all();
  const auto& table = cartesian ? measured.cartesian : measured.graph;
  return table[static_cast<int>(function)][form == CallForm::Blocking ? 0 : 1];
}

Edges edges_of(const Neighbours& neighbours, Matching matching) {
  Edges edges;
  const auto& [sources, destinations, cartesian] = neighbours;
  const bool by_direction = matching == Matching::ByDirection;
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    const auto block = static_cast<std::uint32_t>(i);
    edges.sends.push_back({i, destinations[i], by_direction ? block : before(destinations, i)});
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto block = static_cast<std::uint32_t>(i);
    const auto all = static_cast<std::uint32_t>(std::ranges::count(sources, sources[i]));
    const std::uint32_t earlier = before(sources, i);
    edges.receives.push_back({i, sources[i],
                              by_direction                     ? block ^ 1U
                              : matching == Matching::Reversed ? all - 1 - earlier
                                                               : earlier});
  }
  for (std::vector<Edge>* list : {&edges.sends, &edges.receives}) {
    std::erase_if(*list, [](const Edge& edge) { return edge.rank == MPI_PROC_NULL; });
    std::ranges::stable_sort(*list, {}, &Edge::number);
  }
  return edges;
}

}  // namespace strake::mpi
