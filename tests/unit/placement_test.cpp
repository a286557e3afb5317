// Where the parts of a grid live: the papers' cases, and assignments against exhaustive search.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "placement/assignment.hpp"
#include "placement/nodes.hpp"
#include "placement/traffic.hpp"
#include "strake/error.hpp"

namespace strake::placement {
namespace {

struct Case {
  int nodes, gpus;
  Index3 grid;
  Position node_grid, gpu_grid;
  Index3 largest;
};
const Case kCases[] = {
    {1, 6, {768, 512, 256}, {1, 1, 1}, {3, 2, 1}, {256, 256, 256}},
    {2, 6, {1536, 512, 256}, {2, 1, 1}, {3, 2, 1}, {256, 256, 256}},
    {32, 6, {3072, 2048, 512}, {8, 4, 1}, {1, 3, 2}, {384, 171, 256}},
    {512, 4, {4096, 4096, 2048}, {16, 8, 4}, {1, 2, 2}, {256, 256, 256}},
    {512, 6, {6144, 4096, 2048}, {16, 8, 4}, {1, 3, 2}, {384, 171, 256}},
    {2, 6, {586, 586, 586}, {2, 1, 1}, {1, 3, 2}, {293, 196, 293}},
};

TEST(NodePartition, nodes_come_first_as_in_the_dissertation) {
  for (const Case& one : kCases) {
    const NodePartition made(one.grid, one.nodes, one.gpus, Ties::First);
    EXPECT_EQ(made.nodes(), one.node_grid);
    EXPECT_EQ(made.places(), one.gpu_grid);
    for (std::size_t axis = 0; axis < 3; ++axis)
      EXPECT_EQ(made.parts().range(axis, 0).size(), one.largest[axis]);
  }
}

TEST(NodePartition, each_place_has_one_part) {
  const NodePartition made({100, 90, 80}, 6, 4);
  std::vector<int> parts(24);
  for (int part = 0; part < 24; ++part) {
    const NodePlace at = made.place_of(part);
    ++parts[static_cast<std::size_t>(at.node * 4 + at.number)];
  }
  EXPECT_EQ(parts, std::vector<int>(24, 1));
}

constexpr std::array<bool, 3> kPeriodic{true, true, true};
constexpr int kRadius = 3;

/// Percent of the bytes that stay in a part, in a node, and go to another node.
std::array<double, 3> percent(const Shares& shares) {
  const auto all = static_cast<double>(shares.all());
  return {100 * static_cast<double>(shares.self) / all,
          100 * static_cast<double>(shares.node) / all,
          100 * static_cast<double>(shares.network) / all};
}

TEST(Traffic, shares_of_bytes_are_the_papers) {
  struct Row {
    int nodes, gpus;
    Index3 grid;
    std::array<double, 3> flat, node_aware;
  };
  const Row rows[] = {
      {1, 2, {512, 256, 256}, {65.9, 34.1, 0.0}, {65.9, 34.1, 0.0}},
      {2, 6, {1536, 512, 256}, {32.6, 33.3, 34.1}, {32.6, 56.1, 11.4}},
      {64, 6, {3072, 2048, 1024}, {0.0, 27.1, 72.9}, {0.0, 46.6, 53.4}},
      {512, 6, {6144, 4096, 2048}, {0.0, 27.1, 72.9}, {0.0, 46.6, 53.4}},
  };
  for (const Row& row : rows) {
    const Partition flat(row.grid, row.nodes * row.gpus, Ties::First);
    const NodePartition aware(row.grid, row.nodes, row.gpus, Ties::First);
    std::vector<int> by_number, by_node;
    for (int part = 0; part < row.nodes * row.gpus; ++part) {
      by_number.push_back(part / row.gpus);
      by_node.push_back(aware.place_of(part).node);
    }
    const auto of_flat = percent(shares_of(flat, kRadius, kPeriodic, by_number));
    const auto of_aware = percent(shares_of(aware.parts(), kRadius, kPeriodic, by_node));
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(of_flat[i], row.flat[i], 0.15) << row.nodes << " nodes, flat, share " << i;
      EXPECT_NEAR(of_aware[i], row.node_aware[i], 0.15) << row.nodes << " nodes, share " << i;
    }
  }
}

TEST(Traffic, faces_edges_and_corners_have_the_papers_bytes) {
  const Partition partition({512, 512, 512}, Position{2, 2, 2});
  std::array<std::int64_t, 3> bytes{};
  std::int64_t sent = 0;
  for_each_flow(partition, kRadius, kPeriodic, [&](const Flow& flow) {
    const std::int64_t of_flow = flow.cells * 8;
    bytes[static_cast<std::size_t>(flow.direction.order() - 1)] = of_flow;
    if (flow.from == 0) sent += of_flow;
  });
  EXPECT_EQ(bytes, (std::array<std::int64_t, 3>{1572864, 18432, 216}));
  constexpr double kMib = 1 << 20;
  EXPECT_NEAR(8 * static_cast<double>(sent) / kMib, 73.7, 0.05);
}

/// Two triplets of GPUs, 50 GB/s within, 32 between.
Square summit() {
  Square made(6);
  for (std::size_t a = 0; a < 6; ++a)
    for (std::size_t b = 0; b < 6; ++b) made(a, b) = a / 3 == b / 3 ? 50 : 32;
  return made;
}

/// The flows within an interior node, in whose directions other nodes are.
Square flows_of_node(const Index3& subgrid, const Position& gpus) {
  Index3 whole{};
  for (std::size_t axis = 0; axis < 3; ++axis) whole[axis] = subgrid[axis] * gpus[axis];
  Square flows(static_cast<std::size_t>(gpus[0] * gpus[1] * gpus[2]));
  for_each_flow(Partition(whole, gpus), kRadius, {}, [&](const Flow& flow) {
    flows(static_cast<std::size_t>(flow.from), static_cast<std::size_t>(flow.to)) +=
        static_cast<double>(flow.cells);
  });
  return flows;
}

TEST(Assignment, spreads_are_the_papers) {
  const Spread cubes = spread_of(flows_of_node({256, 256, 256}, {3, 2, 1}), summit());
  EXPECT_NEAR(cubes.mean_over_optimum, 1.077, 0.0005);
  EXPECT_NEAR(cubes.worst_over_optimum, 1.256, 0.0005);
  const Spread flat = spread_of(flows_of_node({384, 171, 256}, {1, 3, 2}), summit());
  EXPECT_NEAR(flat.mean_over_optimum, 1.123, 0.0005);
  EXPECT_NEAR(flat.worst_over_optimum, 1.309, 0.0005);
  const Spread uniform = spread_of(flows_of_node({256, 256, 256}, {3, 2, 1}), Square(6, 40));
  EXPECT_NEAR(uniform.worst_over_optimum, 1, 1e-12);
}

TEST(Assignment, parts_stay_where_all_costs_the_same) {
  const Assignment made = assign(flows_of_node({256, 256, 256}, {2, 2, 2}), Square(8, 25));
  std::vector<std::size_t> order(8);
  std::iota(order.begin(), order.end(), std::size_t{0});
  EXPECT_EQ(made.place_of, order);
}

Square random_square(std::mt19937& random, std::size_t size, double least) {
  std::uniform_real_distribution<double> value(least, 100);
  Square made(size);
  for (std::size_t a = 0; a < size; ++a)
    for (std::size_t b = 0; b < size; ++b) made(a, b) = a == b ? 0 : value(random);
  return made;
}

TEST(Assignment, a_search_is_within_a_percent_of_the_optimum) {
  std::mt19937 random(11);
  for (int instance = 0; instance < 200; ++instance) {
    const Square flows = random_square(random, 8, 0);
    const Square bandwidths = random_square(random, 8, 1);
    EXPECT_LE(search(flows, bandwidths).cost, 1.01 * assign(flows, bandwidths).cost) << instance;
  }
}

/// Two halves of 10 to 16 places, nearly without flow between them, whose places are mixed up.
TEST(Assignment, a_search_finds_what_belongs_together) {
  std::mt19937 random(5);
  for (std::size_t half = 5; half <= 8; ++half) {
    std::vector<std::size_t> order(2 * half);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, random);
    Square flows(2 * half), bandwidths(2 * half);
    for (std::size_t a = 0; a < 2 * half; ++a)
      for (std::size_t b = 0; b < 2 * half; ++b) {
        if (a == b) continue;
        flows(order[a], order[b]) = a / half == b / half ? 10 : 0.1;
        bandwidths(a, b) = a / half == b / half ? 50 : 5;
      }
    const Assignment found = assign(flows, bandwidths);
    std::vector<std::size_t> best(2 * half);
    for (std::size_t a = 0; a < 2 * half; ++a) best[order[a]] = a;
    EXPECT_LE(found.cost, cost_of(flows, bandwidths, best) * 1.01) << half;
    EXPECT_NEAR(found.cost, cost_of(flows, bandwidths, found.place_of), 1e-9 * found.cost);
  }
}

TEST(Assignment, a_search_is_no_dearer_than_the_order_however_many_places) {
  std::mt19937 random(9);
  const Position grids[] = {{3, 3, 2}, {5, 4, 3}, {10, 8, 5}};
  for (const Position& parts : grids) {
    const Square flows = flows_of_node({64, 64, 64}, parts);
    const Square bandwidths = random_square(random, flows.size(), 1);
    std::vector<std::size_t> order(flows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const Assignment found = assign(flows, bandwidths);
    EXPECT_LT(found.cost, 0.7 * cost_of(flows, bandwidths, order));
    EXPECT_NEAR(found.cost, cost_of(flows, bandwidths, found.place_of), 1e-9 * found.cost);
  }
}

TEST(Assignment, wrong_matrices_are_refused_with_their_values) {
  const auto refusal = [](const Square& flows, const Square& bandwidths) -> std::string {
    try {
      (void)assign(flows, bandwidths);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(refusal(Square(3), Square(4, 1)), "flows of 3 parts and bandwidths of 4 places");
  Square zero(3, 10);
  zero(1, 2) = 0;
  EXPECT_EQ(refusal(Square(3), zero), "a bandwidth of 0 from place 1 to 2");
  Square negative(3);
  negative(2, 0) = -1;
  EXPECT_EQ(refusal(negative, Square(3, 1)), "a flow of -1 from part 2 to 0");
  std::mt19937 random(1);
  EXPECT_EQ(refusal(random_square(random, 4, 0), random_square(random, 4, 1)), "");
}

}  // namespace
}  // namespace strake::placement
