/// \file  Communicators with a topology whose ranks may be reordered: each vertex has the
/// neighbours and weights that the program named for it, whichever rank it is, and data arrives.
/// With the interposer on several nodes, vertices that exchange much are on one node.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <vector>

#include "check.hpp"

namespace {

/// The neighbours of a vertex, with the weights of both directions alike.
struct Neighbour {
  int rank;
  int weight;
  friend bool operator<(const Neighbour& a, const Neighbour& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.weight < b.weight;
  }
  friend bool operator==(const Neighbour&, const Neighbour&) = default;
};
using Neighbours = std::vector<Neighbour>;
using Rule = std::function<Neighbours(int vertex)>;

std::vector<int> ranks_of(const Neighbours& all) {
  std::vector<int> ranks;
  for (const Neighbour& one : all) ranks.push_back(one.rank);
  return ranks;
}
std::vector<int> weights_of(const Neighbours& all) {
  std::vector<int> weights;
  for (const Neighbour& one : all) weights.push_back(one.weight);
  return weights;
}

int half() { return check::size() / 2; }
/// The vertex with which a vertex exchanges much: far from it in the order of ranks.
int partner(int vertex) { return vertex < 2 * half() ? (vertex + half()) % (2 * half()) : vertex; }

Neighbours pairs(int vertex) {
  if (partner(vertex) == vertex) return {};
  return {{partner(vertex), 1}};
}
Neighbours heavy_pairs_in_a_ring(int vertex) {
  const int size = check::size();
  Neighbours made = {{(vertex + 1) % size, 1}, {(vertex + size - 1) % size, 1}};
  if (partner(vertex) != vertex) made.insert(made.begin(), {partner(vertex), 100});
  return made;
}
/// Several edges between two vertices, one of weight 0, and one from each vertex to itself.
Neighbours several_edges(int vertex) {
  const int there = partner(vertex);
  return {{there, 3}, {vertex, 7}, {there, 50}, {there, 0}};
}
/// Most vertices have no edges.
Neighbours one_pair(int vertex) {
  return vertex == 0 || vertex == half() ? Neighbours{{partner(vertex), 5}} : Neighbours{};
}

/// In runs in which ranks are reordered: the nodes have so many ranks each, one node after the
/// other, or there are so many nodes, and ranks are dealt to them in turns.
int number_of(const char* variable) {
  const char* const given = std::getenv(variable);
  return given != nullptr ? std::atoi(given) : 0;
}
int ranks_per_node() { return number_of("TEST_NODE_RANKS"); }
int nodes_dealt() { return number_of("TEST_NODES_DEALT"); }
bool reorders() { return ranks_per_node() + nodes_dealt() > 0; }
int node_of(int rank) { return nodes_dealt() > 0 ? rank % nodes_dealt() : rank / ranks_per_node(); }

/// Whether this rank is on the node of another one of `comm`.
bool is_near(MPI_Comm comm, int rank) {
  MPI_Group here = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  CHECK_MPI(MPI_Comm_group(comm, &here));
  CHECK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
  int found = 0;
  CHECK_MPI(MPI_Group_translate_ranks(here, 1, &rank, world, &found));
  CHECK_MPI(MPI_Group_free(&here));
  CHECK_MPI(MPI_Group_free(&world));
  return node_of(found) == node_of(check::rank());
}

int rank_in(MPI_Comm comm) {
  int rank = -1;
  CHECK_MPI(MPI_Comm_rank(comm, &rank));
  return rank;
}

/// A vertex must be on the node of the one with which it exchanges much.
void check_partners(MPI_Comm comm, const Rule& rule) {
  if (reorders() && !rule(rank_in(comm)).empty()) CHECK(is_near(comm, partner(rank_in(comm))));
}

/// One edge of a chain of all ranks goes from each node to the next one.
void check_chain(MPI_Comm comm, const std::vector<int>& neighbours) {
  if (!reorders()) return;
  int across = 0;
  for (const int rank : neighbours) across += rank != MPI_PROC_NULL && !is_near(comm, rank) ? 1 : 0;
  int nodes = node_of(check::rank());
  CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, &nodes, 1, MPI_INT, MPI_MAX, comm));
  CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, &across, 1, MPI_INT, MPI_SUM, comm));
  CHECK(across == 2 * nodes);
}

/// Each vertex sends its number to its neighbours.
void check_data(MPI_Comm comm, const std::vector<int>& sources, const std::vector<int>& to) {
  const std::vector<int> sent(to.size(), rank_in(comm));
  std::vector<int> received(sources.size(), -1);
  CHECK_MPI(MPI_Neighbor_alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm));
  // The vectors' first elements need not exist.
  MPI_Datatype column = MPI_DATATYPE_NULL;
  CHECK(received == sources);
  CHECK_MPI(MPI_Type_vector(2, 1, 2, MPI_INT, &column));
  CHECK_MPI(MPI_Type_commit(&column));
  std::vector<int> columns(4 * to.size(), rank_in(comm));
  std::vector<int> arrived(2 * sources.size(), -1);
  CHECK_MPI(MPI_Neighbor_alltoall(columns.data(), 1, column, arrived.data(), 2, MPI_INT, comm));
  for (std::size_t i = 0; i < arrived.size(); ++i) CHECK(arrived[i] == sources[i / 2]);
  CHECK_MPI(MPI_Type_free(&column));
}

/// Asks for the neighbours, and compares them with the rule.
/// \param in_order  the library keeps the order in which they were named
void check_graph(MPI_Comm comm, const Rule& rule, bool weighted, bool in_order) {
  int in = 0;
  int out = 0;
  int has_weights = 0;
  CHECK_MPI(MPI_Dist_graph_neighbors_count(comm, &in, &out, &has_weights));
  CHECK((has_weights != 0) == weighted);
  std::vector<int> sources(in + 1), source_weights(in + 1), to(out + 1), weights(out + 1);
  CHECK_MPI(MPI_Dist_graph_neighbors(comm, in, sources.data(), source_weights.data(), out,
                                     to.data(), weights.data()));
  sources.resize(in);
  to.resize(out);
  Neighbours from_there, to_there;
  for (int i = 0; i < in; ++i) from_there.push_back({sources[i], weighted ? source_weights[i] : 1});
  for (int i = 0; i < out; ++i) to_there.push_back({to[i], weighted ? weights[i] : 1});
  Neighbours expected = rule(rank_in(comm));
  if (!weighted)
    for (Neighbour& one : expected) one.weight = 1;
  if (!in_order)
    for (Neighbours* list : {&expected, &from_there, &to_there})
      std::sort(list->begin(), list->end());
  CHECK(from_there == expected);
  CHECK(to_there == expected);
  check_data(comm, sources, to);
}

/// A graph, with weights or without; each vertex names its own edges.
void adjacent(const Rule& rule, bool weighted) {
  const Neighbours own = rule(check::rank());
  const std::vector<int> ranks = ranks_of(own);
  std::vector<int> weights = weights_of(own);
  const int degree = static_cast<int>(own.size());
  int* const given = degree == 0 ? MPI_WEIGHTS_EMPTY : weights.data();
  int* const passed = weighted ? given : MPI_UNWEIGHTED;
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, ranks.data(), passed, degree,
                                           ranks.data(), passed, MPI_INFO_NULL, 1, &comm));
  check_graph(comm, rule, weighted, true);
  check_partners(comm, rule);
  CHECK_MPI(MPI_Comm_free(&comm));
}

/// A graph whose edges other ranks name: the rank before each vertex, or the first rank all of
/// them.
void named_by_others(const Rule& rule, bool weighted, bool by_first) {
  std::vector<int> sources, degrees, to, weights;
  const auto name = [&](int vertex) {
    const Neighbours all = rule(vertex);
    sources.push_back(vertex);
    degrees.push_back(static_cast<int>(all.size()));
    for (const Neighbour& one : all) {
      to.push_back(one.rank);
      weights.push_back(one.weight);
    }
  };
  if (!by_first) name(check::next());
  if (by_first && check::rank() == 0)
    for (int vertex = 0; vertex < check::size(); ++vertex) name(vertex);
  int* const given = weights.empty() ? MPI_WEIGHTS_EMPTY : weights.data();
  to.reserve(1);  // Open MPI refuses a null pointer even where there are no edges
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Dist_graph_create(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(),
                                  degrees.data(), to.data(), weighted ? given : MPI_UNWEIGHTED,
                                  MPI_INFO_NULL, 1, &comm));
  check_graph(comm, rule, weighted, false);
  check_partners(comm, rule);
  CHECK_MPI(MPI_Comm_free(&comm));
}

/// MPI_Graph_create and MPI_Graph_map of pairs among the first `vertices` ranks.
void graphs(int vertices) {
  std::vector<int> index, edges;
  const int middle = vertices / 2;
  const auto there = [&](int vertex) { return (vertex + middle) % (2 * middle); };
  for (int vertex = 0; vertex < vertices; ++vertex) {
    if (vertex < 2 * middle) edges.push_back(there(vertex));
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Graph_create(MPI_COMM_WORLD, vertices, index.data(), edges.data(), 1, &comm));
  int in = comm != MPI_COMM_NULL ? 1 : 0;
  int mapped = -1;
  CHECK_MPI(MPI_Graph_map(MPI_COMM_WORLD, vertices, index.data(), edges.data(), &mapped));
  // Open MPI 4.1 gives ranks beyond the graph their own numbers.
  int placed = mapped >= 0 && mapped < vertices ? 1 : 0;
  CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, &placed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(in == vertices && placed == vertices);
  if (comm == MPI_COMM_NULL) return;
  const int rank = rank_in(comm);
  CHECK(!reorders() || mapped == rank);
  if (rank < 2 * middle) {
    int neighbour = -1;
    CHECK_MPI(MPI_Graph_neighbors(comm, rank, 1, &neighbour));
    CHECK(neighbour == there(rank));
    check_data(comm, {neighbour}, {neighbour});
  } else {
    check_data(comm, {}, {});
  }
  CHECK_MPI(MPI_Comm_free(&comm));
}

/// MPI_Cart_create and MPI_Cart_map.
void grid(std::vector<int> dims, std::vector<int> periods) {
  const int axes = static_cast<int>(dims.size());
  const int positions = std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<int>());
  if (positions > check::size()) return;
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Cart_create(MPI_COMM_WORLD, axes, dims.data(), periods.data(), 1, &comm));
  int mapped = -1;
  CHECK_MPI(MPI_Cart_map(MPI_COMM_WORLD, axes, dims.data(), periods.data(), &mapped));
  // Open MPI 4.1 gives ranks beyond the grid their own numbers.
  CHECK((comm != MPI_COMM_NULL) == (mapped >= 0 && mapped < positions));
  if (comm == MPI_COMM_NULL) return;
  const int rank = rank_in(comm);
  CHECK(!reorders() || mapped == rank);
  std::vector<int> coordinates(dims.size());
  CHECK_MPI(MPI_Cart_coords(comm, rank, axes, coordinates.data()));
  int expected = 0;
  for (int axis = 0; axis < axes; ++axis) expected = expected * dims[axis] + coordinates[axis];
  CHECK(expected == rank);
  std::vector<int> sources;
  for (int axis = 0; axis < axes; ++axis) {
    int before = 0;
    int after = 0;
    CHECK_MPI(MPI_Cart_shift(comm, axis, 1, &before, &after));
    sources.insert(sources.end(), {before, after});
  }
  std::vector<int> sent(sources.size(), rank), received(sources.size(), MPI_PROC_NULL);
  CHECK_MPI(MPI_Neighbor_alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm));
  CHECK(received == sources);
  if (axes == 1 && positions == check::size() && periods[0] == 0) check_chain(comm, sources);
  CHECK_MPI(MPI_Comm_free(&comm));
}

/// Ranks are those of the parent where the program asks for that.
void kept() {
  const Neighbours own = pairs(check::rank());
  const std::vector<int> ranks = ranks_of(own);
  const int degree = static_cast<int>(own.size());
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, ranks.data(), MPI_UNWEIGHTED,
                                           degree, ranks.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                           &comm));
  CHECK(rank_in(comm) == check::rank());
  CHECK_MPI(MPI_Comm_free(&comm));
  const int dims[] = {check::size()};
  const int periods[] = {1};
  CHECK_MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm));
  CHECK(rank_in(comm) == check::rank());
  CHECK_MPI(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  for (const bool weighted : {true, false}) {
    check::section("edges by their ends");
    adjacent(pairs, weighted);
    adjacent(several_edges, weighted);
    adjacent(one_pair, weighted);
    check::section("edges named by other ranks");
    named_by_others(pairs, weighted, false);
    named_by_others(one_pair, weighted, true);
  }
  check::section("weights");
  adjacent(heavy_pairs_in_a_ring, true);
  named_by_others(heavy_pairs_in_a_ring, true, true);
  check::section("graphs");
  graphs(check::size());
  if (check::size() > 2) graphs(check::size() - 1);
  check::section("grids");
  for (const int periodic : {0, 1}) {
    grid({2, half()}, {periodic, 1 - periodic});
    grid({half(), 2}, {periodic, periodic});
    grid({1, 2, half()}, {1, periodic, periodic});
    grid({check::size()}, {periodic});
    grid({check::size() - 1}, {periodic});
  }
  check::section("reorder=0");
  kept();
  return check::finish();
}
