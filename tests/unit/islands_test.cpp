// Which processors and GPUs of a node are one island, by a profile's rates.
#include "machine/islands.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace strake::machine {
namespace {

/// Adds a copy of `bytes` at so many GB/s.
void put(Profile& profile, const std::string& name, std::int64_t bytes, double rate) {
  Result result;
  result.name = name;
  result.bytes = bytes;
  result.count = 1;
  result.median = static_cast<double>(bytes) / rate / 1e9;
  profile.results.push_back(result);
}

/// Rates of 2 x 2 NUMA nodes: the pairs of a socket are nearly as fast as one node.
Profile two_sockets() {
  Profile profile;
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to)
      put(profile, fmt::format("copy/numa/{}-{}/flushed", from, to), 1 << 26,
          from == to           ? 20
          : from / 2 == to / 2 ? 18
                               : 9);
  return profile;
}

TEST(Islands, sockets_are_islands_where_copies_between_them_are_slower) {
  const Islands found = islands_of(two_sockets());
  EXPECT_EQ(found.of_numa_node, (std::map<int, int>{{0, 0}, {1, 0}, {2, 1}, {3, 1}}));
  EXPECT_TRUE(found.of_gpu.empty());
}

TEST(Islands, all_pairs_are_compared_at_one_size) {
  Profile profile = two_sockets();
  // Small copies are in a cache, and as fast anywhere.
  put(profile, "copy/numa/0-2/flushed", 1 << 10, 100);
  put(profile, "copy/numa/2-0/flushed", 1 << 10, 100);
  const std::map<int, int> sockets = {{0, 0}, {1, 0}, {2, 1}, {3, 1}};
  EXPECT_EQ(islands_of(profile).of_numa_node, sockets);
  // One disturbed result leaves its size out, for all pairs.
  Profile disturbed;
  for (const char* const pair : {"0-0", "0-1", "1-0", "1-1"}) {
    put(disturbed, fmt::format("copy/numa/{}/flushed", pair), 1 << 20, 12);
    put(disturbed, fmt::format("copy/numa/{}/flushed", pair), 1 << 26, 20);
  }
  disturbed.results[3].doubtful = "other work";
  EXPECT_TRUE(islands_of(disturbed).of_numa_node.empty());
}

TEST(Islands, numbers_may_have_gaps) {
  Profile profile;
  for (const int from : {0, 8})
    for (const int to : {0, 8})
      put(profile, fmt::format("copy/numa/{}-{}/cached", from, to), 1 << 26, from == to ? 20 : 9);
  EXPECT_EQ(islands_of(profile).of_numa_node, (std::map<int, int>{{0, 0}, {8, 1}}));
  put(profile, "copy/numa/2000000000-0/cached", 1 << 26, 20);  // no number of a node
  EXPECT_EQ(islands_of(profile).of_numa_node, (std::map<int, int>{{0, 0}, {8, 1}}));
}

TEST(Islands, alike_or_not_measured_is_one_island) {
  Profile alike;
  Profile lacking;
  for (const char* const pair : {"0-0", "0-1", "1-0", "1-1"}) {
    put(alike, fmt::format("copy/numa/{}/flushed", pair), 1 << 26, 20);
    if (std::string(pair) != "1-0")
      put(lacking, fmt::format("copy/numa/{}/flushed", pair), 1 << 26, pair[0] == pair[2] ? 20 : 5);
  }
  EXPECT_TRUE(islands_of(alike).of_numa_node.empty());
  EXPECT_TRUE(islands_of(lacking).of_numa_node.empty());
  EXPECT_TRUE(islands_of({}).of_numa_node.empty());
}

TEST(Islands, triples_of_gpus_are_islands) {
  Profile profile;
  for (int from = 0; from < 6; ++from) {
    for (int to = 0; to < 6; ++to) {
      if (from == to) continue;
      const bool near = from / 3 == to / 3;
      put(profile, fmt::format("gpu/{}/{}-{}", near ? "peer" : "no-peer", from, to), 1 << 28,
          near ? 47 : 30);
      // Rates of kernels are none of copies.
      if (near) put(profile, fmt::format("gpu/peer/{}-{}/pull", from, to), 1 << 29, 10);
    }
  }
  EXPECT_EQ(islands_of(profile).of_gpu,
            (std::map<int, int>{{0, 0}, {1, 0}, {2, 0}, {3, 1}, {4, 1}, {5, 1}}));
}

/// A made-up tree of the kernel's.
class NumaNodes : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "strake_islands_" + std::to_string(getpid());
    cpu_set_t mine;
    ASSERT_EQ(sched_getaffinity(0, sizeof(mine), &mine), 0);
    while (CPU_ISSET(own_, &mine) == 0) ++own_;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void add(int node, const std::string& processors) {
    const std::string folder = fmt::format("{}/devices/system/node/node{}", root_, node);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/cpulist") << processors << "\n";
  }
  std::string root_;
  int own_ = 0;  ///< a processor of this process
};

TEST_F(NumaNodes, are_those_of_the_processors_that_this_process_may_use) {
  EXPECT_TRUE(own_numa_nodes(root_).empty());
  add(0, "9000-9001,9003");
  add(8, fmt::format("9002,{}-{},9100", own_, own_));
  EXPECT_EQ(own_numa_nodes(root_), (std::vector<int>{8}));
  add(9, std::to_string(own_));
  EXPECT_EQ(own_numa_nodes(root_), (std::vector<int>{8, 9}));
  add(10, "");
  EXPECT_EQ(own_numa_nodes(root_), (std::vector<int>{8, 9}));
}

}  // namespace
}  // namespace strake::machine
