// The wrappers of calls that make a communicator with a topology, or map this rank into one.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "interpose/boundary.hpp"
#include "interpose/distributed_graph.hpp"
#include "interpose/ordered_ranks.hpp"
#include "interpose/passed.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::interpose {
namespace {

/// Turns what was thrown on all ranks alike into an error on `comm`, which one of them explains.
int refused_alike(MPI_Comm comm, const std::exception& error, int code) {
  int rank = 0;
  real_mpi().MPI_Comm_rank(comm, &rank);
  if (rank == 0) log::warn("{}", error.what());
  return raise(comm, code);
}

/// The wrapper of a call that makes a communicator of `comm`. \param willing  whether this rank's
/// arguments allow other ranks. \param order  the vertex of each rank, where they are placed anew;
/// collective. \param create  as the MPI library's call, of the ordered ranks instead of `comm`
template <typename PassOn, typename Willing, typename Order, typename Create>
int create_ordered(MPI_Comm comm, MPI_Comm* made, const PassOn& pass_on, const Willing& willing,
                   const Order& order, const Create& create) {
  if (t_depth != 0 || g_disabled) return pass_on();
  bool passes = false;
  const auto place = [&] {
    const placement::Homes homes = homes_to_order(comm);
    const std::size_t ranks = homes.node_of.size();
    std::vector<int> vertex_of;
    if (ranks > 0 && all_willing(comm, willing(ranks))) vertex_of = order(homes);
    passes = vertex_of.empty();
    if (passes) return MPI_SUCCESS;
    const OrderedRanks ordered(comm, vertex_of);
    return create(ordered.get(), vertex_of);
  };
  Requests::get().hand_on();
  const int code = guarded(comm, [&] {
    try {
      return place();
    } catch (const InvalidArgument& error) {
      return refused_alike(comm, error, MPI_ERR_ARG);
    }
  });
  if (passes) return pass_on();
  after_call();
  if (code == MPI_SUCCESS) communicator_made(comm, *made);
  return code;
}

struct CartesianGrid {
  std::vector<int> dims;
  std::vector<int> periodic;
};
/// A Cartesian grid as MPI_Cart_create gets it; nothing: the MPI library would refuse it, or ranks
/// make no difference.
std::optional<CartesianGrid> grid_of(int ndims, const int* dims, const int* periods,
                                     std::size_t ranks) {
  if (ndims < 1 || dims == nullptr || periods == nullptr) return std::nullopt;
  std::int64_t positions = 1;
  for (int axis = 0; axis < ndims; ++axis) {
    if (dims[axis] < 1) return std::nullopt;
    positions *= dims[axis];
    if (positions > static_cast<std::int64_t>(ranks)) return std::nullopt;
  }
  return CartesianGrid{{dims, dims + ndims}, {periods, periods + ndims}};
}

/// The graph that MPI_Graph_create gets; nothing: the MPI library would refuse it.
std::optional<placement::Graph> graph_of(int nodes, const int* index, const int* edges,
                                         std::size_t ranks) {
  if (nodes < 1 || nodes > static_cast<int>(ranks) || index == nullptr) return std::nullopt;
  placement::Graph made{static_cast<int>(ranks), {}};
  for (int vertex = 0, next = 0; vertex < nodes; ++vertex) {
    if (index[vertex] < next || (edges == nullptr && index[vertex] > 0)) return std::nullopt;
    for (; next < index[vertex]; ++next) {
      if (edges[next] < 0 || edges[next] >= nodes) return std::nullopt;
      made.edges.push_back({vertex, edges[next], 1});
    }
  }
  return made;
}

template <typename Real>
int cart_create(Real real, MPI_Comm comm, int ndims, const int* dims, const int* periods,
                int reorder, MPI_Comm* made) {
  std::optional<CartesianGrid> grid;
  return create_ordered(
      comm, made,
      [&] { return pass<kCommunicator>(real, comm, ndims, dims, periods, reorder, made); },
      [&](std::size_t ranks) {
        if (reorder != 0) grid = grid_of(ndims, dims, periods, ranks);
        return grid.has_value();
      },
      [&](const placement::Homes& homes) {
        const auto make = [&](std::size_t ranks) {
          return wanted_grid(grid->dims, grid->periodic, ranks);
        };
        return agreed_ordering(comm, make, homes);
      },
      [&](MPI_Comm ordered, const auto&) { return real(ordered, ndims, dims, periods, 0, made); });
}

template <typename Real>
int graph_create(Real real, MPI_Comm comm, int nodes, const int* index, const int* edges,
                 int reorder, MPI_Comm* made) {
  std::optional<placement::Graph> graph;
  return create_ordered(
      comm, made,
      [&] { return pass<kCommunicator>(real, comm, nodes, index, edges, reorder, made); },
      [&](std::size_t ranks) {
        if (reorder != 0) graph = graph_of(nodes, index, edges, ranks);
        return graph.has_value();
      },
      [&](const placement::Homes& homes) {
        const auto make = [&](std::size_t) { return Wanted{*graph, {}}; };
        return agreed_ordering(comm, make, homes);
      },
      [&](MPI_Comm ordered, const auto&) { return real(ordered, nodes, index, edges, 0, made); });
}

template <typename Real>
int dist_graph_create(Real real, MPI_Comm comm, int n, const int* sources, const int* degrees,
                      const int* destinations, const int* weights, MPI_Info info, int reorder,
                      MPI_Comm* made) {
  return create_ordered(
      comm, made,
      [&] {
        return pass<kCommunicator>(real, comm, n, sources, degrees, destinations, weights, info,
                                   reorder, made);
      },
      [&](std::size_t) { return reorder != 0; },
      [&](const placement::Homes& homes) {
        return order_distributed(comm, homes, {n, sources, degrees, destinations, weights});
      },
      // Each rank names the edges that it did: they are between vertices, whoever names them.
      [&](MPI_Comm ordered, const auto&) {
        return real(ordered, n, sources, degrees, destinations, weights, info, 0, made);
      });
}

template <typename Real>
int dist_graph_create_adjacent(Real real, MPI_Comm comm, int indegree, const int* sources,
                               const int* source_weights, int outdegree, const int* destinations,
                               const int* destination_weights, MPI_Info info, int reorder,
                               MPI_Comm* made) {
  const Adjacency own{{indegree, sources, source_weights},
                      {outdegree, destinations, destination_weights}};
  return create_ordered(
      comm, made,
      [&] {
        return pass<kCommunicator>(real, comm, indegree, sources, source_weights, outdegree,
                                   destinations, destination_weights, info, reorder, made);
      },
      [&](std::size_t) { return reorder != 0; },
      [&](const placement::Homes& homes) { return order_adjacent(comm, homes, own); },
      [&](MPI_Comm ordered, const std::vector<int>& vertex_of) {
        const MovedAdjacency moved(ordered, rank_in(comm), own, vertex_of);
        const auto [in, out] = moved.get();
        return real(ordered, in.count, in.ranks, in.weights, out.count, out.ranks, out.weights,
                    info, 0, made);
      });
}

/// The rank that MPI_Cart_create or MPI_Graph_create would give this one; nothing: as the MPI
/// library says.
std::optional<int> mapped_rank(MPI_Comm comm, const Wanted& wanted, int vertices,
                               const placement::Homes& homes) {
  const auto found = helpful_ordering(wanted, homes);
  if (!found) return std::nullopt;
  const int vertex = found->vertex_of[static_cast<std::size_t>(rank_in(comm))];
  return vertex < vertices ? vertex : MPI_UNDEFINED;
}

/// The wrapper of a call that maps this rank, and asks no other one.
template <typename PassOn, typename Map>
int map_ordered(MPI_Comm comm, int* new_rank, const PassOn& pass_on, const Map& map) {
  std::optional<int> found;
  if (t_depth == 0 && !g_disabled) {
    const int code = guarded(comm, [&] {
      const placement::Homes homes = homes_to_order(comm);
      if (!homes.node_of.empty()) found = map(homes);
      return MPI_SUCCESS;
    });
    if (code != MPI_SUCCESS) return code;
  }
  if (!found || new_rank == nullptr) return pass_on();
  *new_rank = *found;
  return MPI_SUCCESS;
}

template <typename Real>
int cart_map(Real real, MPI_Comm comm, int ndims, const int* dims, const int* periods,
             int* new_rank) {
  return map_ordered(
      comm, new_rank, [&] { return real(comm, ndims, dims, periods, new_rank); },
      [&](const placement::Homes& homes) -> std::optional<int> {
        const auto grid = grid_of(ndims, dims, periods, homes.node_of.size());
        if (!grid) return std::nullopt;
        const int positions =
            std::reduce(grid->dims.begin(), grid->dims.end(), 1, std::multiplies());
        return mapped_rank(comm, wanted_grid(grid->dims, grid->periodic, homes.node_of.size()),
                           positions, homes);
      });
}

template <typename Real>
int graph_map(Real real, MPI_Comm comm, int nodes, const int* index, const int* edges,
              int* new_rank) {
  return map_ordered(
      comm, new_rank, [&] { return real(comm, nodes, index, edges, new_rank); },
      [&](const placement::Homes& homes) -> std::optional<int> {
        const auto graph = graph_of(nodes, index, edges, homes.node_of.size());
        if (!graph) return std::nullopt;
        return mapped_rank(comm, {*graph, {}}, nodes, homes);
      });
}

}  // namespace
}  // namespace strake::interpose

#include "interpose/wrappers/reorder.hpp"
