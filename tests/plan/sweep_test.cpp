// One question for several numbers of nodes.
#include "plan/sweep.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "strake/error.hpp"
#include "summit_profile.hpp"

namespace strake::plan {
namespace {

Question on_summit() {
  Question asked;
  asked.machine = std::make_shared<Machine>(find_machine("summit"));
  asked.places = 6;
  asked.grid = {768, 512, 256};
  asked.radius = 3;
  return asked;
}

TEST(Sweep, each_row_is_the_answer_for_one) {
  const machine::Profile profile = machine::summit::profile();
  for (const bool is_weak : {false, true}) {
    const std::vector<Row> rows = sweep(on_summit(), {1, 2, 8}, is_weak, &profile);
    ASSERT_EQ(rows.size(), 6U);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Question one = on_summit();
      one.nodes = i < 2 ? 1 : i < 4 ? 2 : 8;
      one.placement = i % 2 == 0 ? Placement::Default : Placement::NodeAware;
      if (is_weak) one.grid = grown(one.grid, one.nodes);
      EXPECT_EQ(rows[i].question.nodes, one.nodes);
      EXPECT_EQ(rows[i].question.grid, one.grid);
      EXPECT_EQ(to_json(rows[i].answer), to_json(answer(one, &profile)));
      const auto listed = to_json(rows)[i];
      EXPECT_EQ(listed["nodes"], one.nodes);
      EXPECT_EQ(listed["placement"], i % 2 == 0 ? "default" : "node-aware");
      EXPECT_EQ(listed["predicted_us"], to_json(answer(one, &profile))["predicted_us"]);
      EXPECT_TRUE(listed["predicted_us"].is_number());
    }
  }
}

TEST(Sweep, a_grid_grows_along_its_shortest_axes) {
  EXPECT_EQ(grown({512, 512, 512}, 1), (Index3{512, 512, 512}));
  EXPECT_EQ(grown({512, 512, 512}, 2), (Index3{1024, 512, 512}));
  EXPECT_EQ(grown({512, 512, 512}, 8), (Index3{1024, 1024, 1024}));
  EXPECT_EQ(grown({512, 256, 256}, 6), (Index3{512, 768, 512}));
  EXPECT_EQ(grown({100, 100, 1}, 7), (Index3{100, 100, 7}));
}

TEST(Sweep, too_many_bytes_name_the_nodes) {
  Question asked = on_summit();
  asked.grid = {1 << 19, 1 << 19, 1 << 19};
  try {
    (void)sweep(asked, {1, 8}, true, nullptr);
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(std::string(error.what()).find("with 8 nodes: a grid of 1048576 x 1048576 x 1048576"),
              0U)
        << error.what();
  }
}

TEST(Sweep, what_is_impossible_names_the_nodes) {
  Question asked = on_summit();
  asked.radius = 129;
  try {
    (void)sweep(asked, {1, 2, 4}, false, nullptr);
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(std::string(error.what()),
              "with 2 nodes: a radius of 129, but a part has 128 cells along x, of 6 parts");
  }
}

}  // namespace
}  // namespace strake::plan
