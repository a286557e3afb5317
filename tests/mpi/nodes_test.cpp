// Islands of nodes, numbered through all nodes.
#include "mpi/nodes.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace strake::mpi {
namespace {

TEST(NumberedIslands, are_those_of_nodes_that_have_several) {
  EXPECT_EQ(numbered_islands({0, 0, 1, 1}, {0, 1, 0, 1}), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(numbered_islands({0, 1, 0, 1}, {5, 5, 7, 5}), (std::vector<int>{0, 1, 2, 1}));
  EXPECT_TRUE(numbered_islands({0, 0, 1, 1}, {0, 0, 1, 1}).empty());
  EXPECT_TRUE(numbered_islands({}, {}).empty());
}

TEST(NumberedIslands, a_rank_on_several_makes_its_node_one) {
  EXPECT_TRUE(numbered_islands({0, 0, 0}, {0, 1, -1}).empty());
  EXPECT_EQ(numbered_islands({0, 0, 1, 1}, {0, -1, 0, 1}), (std::vector<int>{0, 0, 1, 2}));
}

}  // namespace
}  // namespace strake::mpi
