// Which processors and GPUs of a node are one island, by a profile's rates.
#include "machine/islands.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

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
  EXPECT_EQ(found.of_numa_node, (std::vector<int>{0, 0, 1, 1}));
  EXPECT_TRUE(found.of_gpu.empty());
}

TEST(Islands, the_most_bytes_count) {
  Profile profile = two_sockets();
  // Small copies are in a cache, and as fast anywhere.
  put(profile, "copy/numa/0-2/flushed", 1 << 10, 100);
  put(profile, "copy/numa/2-0/flushed", 1 << 10, 100);
  EXPECT_EQ(islands_of(profile).of_numa_node, (std::vector<int>{0, 0, 1, 1}));
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
  EXPECT_EQ(islands_of(profile).of_gpu, (std::vector<int>{0, 0, 0, 1, 1, 1}));
}

TEST(Islands, processors_of_one_numa_node_are_known) {
  const auto node = own_numa_node();
  if (node) {
    EXPECT_GE(*node, 0);
  }
  EXPECT_GE(own_island(0), -1);
  EXPECT_EQ(island_of_gpu(-1, 1), 0);
}

}  // namespace
}  // namespace strake::machine
