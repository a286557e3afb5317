// Forecasts of grids of bricks.
#include "plan/brick_plan.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "brick/order.hpp"
#include "strake/error.hpp"

namespace strake::plan {
namespace {

/// A cube of so many bricks of 8 bytes along each axis, for one rank.
BrickQuestion cube(int axes, int bricks) {
  BrickQuestion asked;
  asked.grid.assign(static_cast<std::size_t>(axes), bricks);
  asked.shape.assign(static_cast<std::size_t>(axes), 1);
  return asked;
}

TEST(BrickPlan, sends_as_many_messages_as_the_paper_says) {
  const std::vector<int> neighbours = {2, 8, 26, 80, 242};
  const std::vector<int> layout = {2, 9, 42, 209, 1042};
  const std::vector<int> basic = {2, 16, 98, 544, 2882};
  for (int axes = 1; axes <= 5; ++axes) {
    const auto at = static_cast<std::size_t>(axes - 1);
    for (const int bricks : {3, 4}) {
      const BrickPlan plan = plan_bricks(cube(axes, bricks));
      EXPECT_EQ(plan.neighbours, neighbours[at]);
      EXPECT_EQ(plan.own_neighbours, neighbours[at]);  // one rank
      EXPECT_EQ(plan.layout_messages, layout[at]);
      EXPECT_EQ(plan.basic_messages, basic[at]);
      EXPECT_EQ(plan.sent_bytes, plan.ghosts * 8);
    }
    const auto order = nlohmann::json::parse(orders_json({}, 1))["orders"][at];
    EXPECT_EQ(order["layout"], layout[at]);
    EXPECT_EQ(order["bound"], layout[at]);
    EXPECT_EQ(order["basic"], basic[at]);
  }
}

TEST(BrickPlan, has_the_bricks_of_the_largest_part) {
  BrickQuestion asked{{72, 64, 64}, {8, 8, 8}, 9, 2, 4};
  const BrickPlan plan = plan_bricks(asked);
  EXPECT_EQ(plan.parts, (brick::Coordinates{2, 1, 2, 1, 1}));
  EXPECT_EQ(plan.largest, (brick::Coordinates{5, 8, 4, 1, 1}));
  EXPECT_EQ(plan.grid.ghosts, (brick::Coordinates{2, 2, 2, 0, 0}));
  EXPECT_EQ(plan.brick_bytes, 8 * 8 * 8 * 2 * 8);
  EXPECT_EQ(plan.inside, 1 * 4 * 0);
  EXPECT_EQ(plan.surface, 5 * 8 * 4);
  EXPECT_EQ(plan.ghosts, 9 * 12 * 8 - 5 * 8 * 4);
  EXPECT_EQ(plan.own_neighbours, 2);  // along the axis that is not cut
}

/// Bricks of the region that a neighbour gets last, of a cube with 30 bricks inside along each
/// axis.
std::int64_t last_region_of(brick::Region neighbour) {
  std::int64_t bricks = 0;
  for (const brick::Region region : brick::best_order(3)) {
    if (!brick::goes_to(region, neighbour)) continue;
    bricks = 1;
    for (int axis = 0; axis < 3; ++axis) bricks *= brick::sign_of(region, axis) == 0 ? 30 : 1;
  }
  return bricks;
}

TEST(BrickPlan, pads_all_regions_of_each_neighbour_but_the_last) {
  const std::int64_t brick = 4096;
  const BrickPlan plan = plan_bricks({{256, 256, 256}, {8, 8, 8}, 8, 1, 1});
  const auto padding = [](std::int64_t bytes, std::int64_t page) {
    return (bytes + page - 1) / page * page - bytes;
  };
  // Faces go to one neighbour, edges to three, corners to seven.
  for (std::size_t i = 0; i < kPageBytes.size(); ++i) {
    std::int64_t expected = 6 * padding(30 * 30 * brick, kPageBytes[i]) +
                            12 * 3 * padding(30 * brick, kPageBytes[i]) +
                            8 * 7 * padding(brick, kPageBytes[i]);
    for (const brick::Region neighbour : brick::regions_of(3))
      expected -= padding(last_region_of(neighbour) * brick, kPageBytes[i]);
    EXPECT_EQ(plan.padding_bytes[i], expected);
  }
  EXPECT_EQ(plan.padding_bytes[0], 0);
}

TEST(BrickPlan, no_ghosts_need_no_messages) {
  BrickQuestion asked = cube(3, 4);
  asked.ghost = 0;
  const BrickPlan plan = plan_bricks(asked);
  EXPECT_EQ(plan.inside, 64);
  EXPECT_EQ(plan.ghosts, 0);
  EXPECT_EQ(plan.neighbours, 0);
  EXPECT_EQ(plan.layout_messages, 0);
}

TEST(BrickPlan, what_is_impossible_is_refused_with_its_values) {
  const auto refusal = [](const BrickQuestion& asked) -> std::string {
    try {
      (void)plan_bricks(asked);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(
      refusal({{64, 30}, {8, 8}, 1, 1, 1}),
      "a grid of 30 cells along axis 1 with bricks of 8: it has to be a multiple of the brick, "
      "such as 24 or 32");
  EXPECT_EQ(refusal({{64, 64}, {8, 8}, 1, 0, 1}), "bricks of 0 fields");
  EXPECT_EQ(
      refusal({{32, 32}, {8, 8}, 16, 1, 8}),
      "4 x 4 bricks with 2 x 2 ghost bricks on each side for 8 ranks: no axis can be cut into 2 "
      "more: take smaller bricks or ghosts, or fewer ranks");
  EXPECT_EQ(refusal({{1 << 28}, {1}, 1, 1, 1}),
            "a part of 268435456 bricks of 8 bytes, with 1 ghost bricks on each side: more than "
            "2^27 bricks; take larger bricks or more ranks");
  EXPECT_EQ(refusal({{1 << 30, 1 << 30}, {1 << 30, 1 << 30}, 1, 1, 1}),
            "bricks of 1073741824 x 1073741824 cells of 1 fields: more than 2^60 bytes");
}

TEST(BrickPlan, a_shape_alone_says_which_pages_need_no_padding) {
  const auto last_line = [](const std::vector<int>& shape, int fields) {
    const std::string text = orders_text(shape, fields);
    return text.substr(text.rfind('\n', text.size() - 2) + 1);
  };
  EXPECT_EQ(
      last_line({8, 8, 8}, 1),
      "A brick of 8 x 8 x 8 cells has 4096 bytes: MemMap needs no padding to pages of 4 KiB\n");
  EXPECT_EQ(last_line({8, 8, 8}, 16),
            "A brick of 8 x 8 x 8 cells has 65536 bytes: MemMap needs no padding to pages of 4 KiB "
            "or 64 KiB\n");
  EXPECT_EQ(last_line({4, 4}, 1), "A brick of 4 x 4 cells has 128 bytes: MemMap needs padding\n");
  EXPECT_THROW((void)orders_text({8, 0}, 1), InvalidArgument);
  EXPECT_THROW((void)orders_text({2, 2, 2, 2, 2, 2}, 1), InvalidArgument);
}

}  // namespace
}  // namespace strake::plan
