// Which blocks relays carry between nodes, and what a bundle tells.
#include "exchange/collective/relay_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "exchange/collective/bundle.hpp"

namespace strake::exchange {
namespace {

using Duties = std::vector<RelayPlan::Duty>;

/// Four ranks on two nodes, each of which sends one block to each rank of the other node.
const std::vector<int> kNodes = {0, 0, 1, 1};
std::vector<FarEdges> all_to_all() {
  std::vector<FarEdges> all;
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to)
      if (from / 2 != to / 2) all.push_back({from, to, 1});
  return all;
}

TEST(RelayPlan, every_block_has_a_giver_and_agents_that_know_each_other) {
  std::vector<RelayPlan> plans;
  for (int rank = 0; rank < 4; ++rank)
    plans.push_back(plan_relays(rank, kNodes, all_to_all()).value());
  for (int rank = 0; rank < 4; ++rank) {
    const RelayPlan& plan = plans[static_cast<std::size_t>(rank)];
    const int other = rank < 2 ? 2 : 0;
    ASSERT_NE(plan.share_to(other), nullptr);
    EXPECT_EQ(plan.share_to(other)->edges, 2);
    EXPECT_EQ(plan.share_from(other)->senders, 2);
    EXPECT_EQ(plan.share_to(rank), nullptr);
    const Duties& duties = plans[static_cast<std::size_t>(plan.share_to(other)->agent)].sends;
    ASSERT_EQ(duties.size(), 1U);
    EXPECT_EQ(duties[0].edges, 4);
    EXPECT_TRUE(
        std::ranges::any_of(duties[0].parts, [&](const auto& part) { return part.rank == rank; }));
    const Duties& there = plans[static_cast<std::size_t>(duties[0].partner)].delivers;
    ASSERT_EQ(there.size(), 1U);
    EXPECT_EQ(there[0].partner, plan.share_to(other)->agent);
    EXPECT_EQ(there[0].parts.size(), 2U);
  }
}

TEST(RelayPlan, partners_know_each_other) {
  for (int rank = 0; rank < 4; ++rank) {
    for (const int other : plan_relays(rank, kNodes, all_to_all())->partners_here()) {
      EXPECT_EQ(kNodes[static_cast<std::size_t>(other)], kNodes[static_cast<std::size_t>(rank)]);
      const std::vector<int> theirs = plan_relays(other, kNodes, all_to_all())->partners_here();
      EXPECT_NE(std::ranges::find(theirs, rank), theirs.end());
    }
  }
}

TEST(RelayPlan, few_blocks_or_those_of_one_pair_are_not_relayed) {
  EXPECT_FALSE(plan_relays(0, kNodes, std::vector<FarEdges>{{0, 2, 1}, {1, 2, 1}, {0, 3, 1}}));
  EXPECT_FALSE(plan_relays(0, kNodes, std::vector<FarEdges>{{0, 2, 100}}));
  EXPECT_TRUE(plan_relays(0, kNodes, std::vector<FarEdges>{{0, 2, 2}, {0, 3, 2}}));
}

TEST(Bundle, holds_blocks_and_names_of_messages_in_its_room) {
  Bundle bundle(Bundle::room_for(3));
  std::byte* const block = bundle.add({1, 2, 3, BundleEntry::kInside, 5});
  ASSERT_NE(block, nullptr);
  std::fill_n(block, 5, std::byte{7});
  EXPECT_NE(bundle.add({1, 2, 4, 99, 1 << 20}), nullptr);
  EXPECT_EQ(bundle.add({1, 2, 5, BundleEntry::kInside, Bundle::kMostInside + 1}), nullptr);
  Bundle joined(Bundle::room_for(6, 2));
  joined.append(bundle);
  joined.append(bundle);
  std::vector<BundleEntry> entries;
  joined.for_each([&](const BundleEntry& entry, const std::byte* inside) {
    entries.push_back(entry);
    if (entry.tag == BundleEntry::kInside) {
      EXPECT_EQ(inside[4], std::byte{7});
    }
  });
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[1].tag, 99);
  EXPECT_EQ(entries[2].edge, 3U);
}

TEST(Bundle, loses_what_there_is_no_room_for) {
  Bundle bundle(Bundle::room_for(1));
  Bundle other(Bundle::room_for(4));
  for (unsigned edge = 0; edge < 4; ++edge)
    (void)other.add({0, 0, edge, BundleEntry::kInside, 1000});
  bundle.append(other);
  int entries = 0;
  bundle.for_each([&](const BundleEntry&, const std::byte*) { ++entries; });
  EXPECT_EQ(entries, 0);
  std::byte* const block = bundle.add({0, 0, 0, BundleEntry::kInside, 8});
  Bundle::lose(block);
  bundle.for_each([&](const BundleEntry& entry, const std::byte*) {
    EXPECT_EQ(entry.tag, BundleEntry::kLost);
  });
}

}  // namespace
}  // namespace strake::exchange
