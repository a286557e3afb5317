// Which rank becomes which vertex.
#include "placement/ordering.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "strake/error.hpp"

namespace strake::placement {
namespace {

/// The nodes of the ranks that become the vertices.
std::vector<int> nodes_by_vertex(const Ordering& found, const std::vector<int>& node_of) {
  std::vector<int> nodes(node_of.size(), -1);
  for (std::size_t rank = 0; rank < node_of.size(); ++rank)
    nodes[static_cast<std::size_t>(found.vertex_of[rank])] = node_of[rank];
  return nodes;
}

void expect_permutation(const Ordering& found) {
  std::vector<int> sorted = found.vertex_of;
  std::ranges::sort(sorted);
  std::vector<int> all(sorted.size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sorted, all);
}

TEST(Ordering, pairs_that_are_far_apart_come_to_one_node) {
  const std::vector<int> node_of = {0, 0, 1, 1, 2, 2, 3, 3};
  Graph graph{8, {}};
  for (int vertex = 0; vertex < 8; ++vertex) graph.edges.push_back({vertex, (vertex + 4) % 8, 10});
  const Ordering found = ordering_of(graph, {node_of});
  expect_permutation(found);
  EXPECT_EQ(found.before.across, 80);
  EXPECT_EQ(found.before.all, 80);
  EXPECT_EQ(found.after.across, 0);
  EXPECT_EQ(cut_of(graph, nodes_by_vertex(found, node_of)).across, 0);
}

TEST(Ordering, ranks_keep_their_numbers_where_all_is_well) {
  const std::vector<int> node_of = {0, 0, 0, 1, 1, 1, 1};
  const Graph graph = cartesian_graph({7}, {0}, 7);
  const Ordering found = ordering_of(graph, {node_of});
  EXPECT_EQ(found.vertex_of, (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(found.after.across, 2);
  EXPECT_EQ(found.before.across, 2);
}

/// Two islands a node, dealt in turns.
std::vector<int> islands_in_turns(const std::vector<int>& node_of) {
  std::vector<int> made;
  for (std::size_t rank = 0; rank < node_of.size(); ++rank)
    made.push_back(2 * node_of[rank] + static_cast<int>(rank % 2));
  return made;
}

TEST(Ordering, neighbours_of_a_node_come_to_one_island) {
  // A chain of 16 on two nodes, in order; its ranks are on the islands of their node in turns.
  std::vector<int> node_of(16);
  for (std::size_t rank = 8; rank < 16; ++rank) node_of[rank] = 1;
  const Homes homes{node_of, islands_in_turns(node_of)};
  const Graph graph = cartesian_graph({16}, {0}, 16);
  const Ordering found = ordering_of(graph, homes);
  expect_permutation(found);
  EXPECT_EQ(found.before.across, 2);
  EXPECT_EQ(found.after.across, 2);
  EXPECT_EQ(found.islands_before.across, 30);
  EXPECT_EQ(found.islands_after.across, 6);
  EXPECT_EQ(cut_of(graph, nodes_by_vertex(found, node_of)).across, 2);
  EXPECT_EQ(cut_of(graph, nodes_by_vertex(found, homes.island_of)).across, 6);
  EXPECT_EQ(found.vertex_of, order_on_islands(graph, homes));
}

TEST(Ordering, islands_come_after_nodes) {
  // As above, but nodes are dealt in turns, too.
  const std::vector<int> node_of = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  std::vector<int> island_of;
  for (std::size_t rank = 0; rank < node_of.size(); ++rank)
    island_of.push_back(2 * node_of[rank] + static_cast<int>(rank / 2 % 2));
  const Graph graph = cartesian_graph({16}, {0}, 16);
  const Ordering found = ordering_of(graph, {node_of, island_of});
  expect_permutation(found);
  EXPECT_EQ(found.after.across, 2);
  EXPECT_EQ(found.islands_after.across, 6);
  EXPECT_EQ(cut_of(graph, nodes_by_vertex(found, node_of)).across, 2);
  EXPECT_EQ(cut_of(graph, nodes_by_vertex(found, island_of)).across, 6);
}

TEST(Ordering, ranks_keep_their_numbers_where_islands_are_well) {
  const std::vector<int> node_of = {0, 0, 0, 0, 1, 1, 1, 1};
  const Homes homes{node_of, {0, 0, 1, 1, 2, 2, 3, 3}};
  const Graph graph = cartesian_graph({8}, {0}, 8);
  const std::vector<int> own = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(ordering_of(graph, homes).vertex_of, own);
  EXPECT_EQ(order_on_islands(graph, homes), own);
}

TEST(Ordering, nodes_dealt_in_turns_get_whole_blocks) {
  // A grid of 4 x 4 on 4 nodes, ranks dealt to nodes in turns.
  std::vector<int> node_of(16);
  for (int rank = 0; rank < 16; ++rank) node_of[static_cast<std::size_t>(rank)] = rank % 4;
  const Graph graph = cartesian_graph({4, 4}, {0, 0}, 16);
  const Ordering found = ordering_of(graph, {node_of});
  expect_permutation(found);
  EXPECT_EQ(found.before.across, 24);  // all along rows; columns stay within
  EXPECT_EQ(found.after.across, 16);   // blocks of 2 x 2
  EXPECT_EQ(cut_of(graph, nodes_by_vertex(found, node_of)).across, 16);
}

TEST(Ordering, cartesian_graphs_have_the_neighbours_of_mpi) {
  const Graph open = cartesian_graph({2, 3}, {0, 0}, 7);
  EXPECT_EQ(open.vertices, 7);
  EXPECT_EQ(open.edges.size(), 2U * (3 + 4));
  const Graph periodic = cartesian_graph({2, 3}, {1, 1}, 6);
  EXPECT_EQ(periodic.edges.size(), 6U * 4);
  int to_two = 0;  // of position (0, 0): across the end of the last axis
  for (const Edge& edge : periodic.edges) to_two += edge.from == 0 && edge.to == 2 ? 1 : 0;
  EXPECT_EQ(to_two, 1);
  EXPECT_EQ(cartesian_graph({1}, {1}, 1).edges.size(), 2U);  // to itself
}

}  // namespace
}  // namespace strake::placement
