// Graphs of messages: how they are read, and which ranks go to which node.
#include "plan/graph_plan.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "plan/graph_file.hpp"
#include "strake/error.hpp"

namespace strake::plan {
namespace {

/// A file that is gone with the object.
class TextFile {
 public:
  explicit TextFile(const std::string& text)
      : path_(testing::TempDir() + "/strake_graph_plan_test_" + std::to_string(getpid())) {
    std::ofstream(path_) << text;
  }
  ~TextFile() { std::remove(path_.c_str()); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

TEST(GraphFile, has_edges_comments_and_empty_lines) {
  const TextFile file("# ranks\n0 3 10\n\n  3\t0   7 # back\r\n1 1 9000000000\n");
  const placement::Graph graph = read_graph(file.path());
  EXPECT_EQ(graph.vertices, 4);
  ASSERT_EQ(graph.edges.size(), 3U);
  EXPECT_EQ(graph.edges[1].from, 3);
  EXPECT_EQ(graph.edges[1].to, 0);
  EXPECT_EQ(graph.edges[1].weight, 7);
  EXPECT_EQ(graph.edges[2].weight, 9000000000);
}

TEST(GraphFile, may_begin_with_a_mark_of_utf8) {
  const placement::Graph graph = read_graph(TextFile("\xEF\xBB\xBF"
                                                     "0 1 5\n")
                                                .path());
  ASSERT_EQ(graph.edges.size(), 1U);
  EXPECT_EQ(graph.edges[0].weight, 5);
}

TEST(GraphFile, lines_of_another_form_are_refused_with_their_number) {
  for (const std::string wrong : {"0 1", "0 1 2 3", "0 1 x", "0 1 2.5", "-1 0 2", "0 1 -2",
                                  "0 1048576 1", "0 99999999999 1", "0,1,2"}) {
    const TextFile file("0 1 2\n" + wrong + "\n");
    try {
      (void)read_graph(file.path());
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      const std::string said = error.what();
      EXPECT_NE(said.find(":2: \"" + wrong + "\" is not"), std::string::npos) << said;
    }
  }
  EXPECT_THROW((void)read_graph(TextFile("# nothing\n").path()), Error);
  EXPECT_THROW((void)read_graph("/nowhere/graph"), Error);
}

placement::Graph pairs() { return {5, {{0, 2, 10}, {3, 1, 10}, {4, 4, 99}, {0, 1, 5}}}; }

TEST(GraphPlan, pairs_are_put_together) {
  const GraphPlan plan = plan_graph(pairs(), 3, 2);
  EXPECT_EQ(plan.given.all, 25);
  EXPECT_EQ(plan.given.across, 20);
  EXPECT_EQ(plan.mapped.across, 5);
  EXPECT_EQ(plan.node_of[0], plan.node_of[2]);
  EXPECT_EQ(plan.node_of[1], plan.node_of[3]);
  EXPECT_EQ(plan.node_of[4], 2);  // the last node is the one that is not full
}

TEST(GraphPlan, is_told_as_text_and_as_json) {
  const GraphPlan plan = plan_graph(pairs(), 4, 2);
  const std::string text = graph_text(plan);
  EXPECT_NE(text.find("5 vertices on 4 nodes; edges between vertices weigh 25 in all\n"
                      "Leaves:   80.0 % in the given order, 20.0 % after mapping\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Node 2: 4\nEmpty:    1 nodes\n"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(graph_json(plan));
  EXPECT_EQ(json["vertices"], 5);
  EXPECT_EQ(json["weight"], 25);
  EXPECT_EQ(json["across_percent"]["given"], 80);
  EXPECT_EQ(json["across_percent"]["mapped"], 20);
  EXPECT_EQ(json["node_of"].get<std::vector<int>>(), plan.node_of);
  EXPECT_NE(graph_text(plan_graph({3, {}}, 1, 8)).find("Node 0: 0-2\n"), std::string::npos);
}

TEST(GraphPlan, what_is_impossible_is_refused_with_its_values) {
  const auto refusal = [](int nodes, int places) -> std::string {
    try {
      (void)plan_graph(pairs(), nodes, places);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(refusal(2, 2), "a graph of 5 vertices for 2 nodes of 2 places");
  EXPECT_EQ(refusal(0, 8), "a graph of 5 vertices for 0 nodes of 8 places");
  EXPECT_EQ(refusal(-1, -8), "a graph of 5 vertices for -1 nodes of -8 places");
  EXPECT_EQ(refusal(1, 5), "");
}

}  // namespace
}  // namespace strake::plan
