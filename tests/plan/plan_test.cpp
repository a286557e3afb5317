// Forecasts of exchanges, with a profile of a machine like Summit.
#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "strake/error.hpp"
#include "summit_profile.hpp"

namespace strake::plan {
namespace {

Question at_512_nodes(Placement placement) {
  Question asked;
  asked.nodes = 512;
  asked.places = 6;
  asked.grid = {6144, 4096, 2048};
  asked.radius = 3;
  asked.cell_bytes = 4 * 8;
  asked.placement = placement;
  return asked;
}

TEST(Plan, fewer_bytes_leave_a_node_and_the_exchange_is_shorter) {
  const machine::Profile profile = machine::summit::profile();
  const auto begin = std::chrono::steady_clock::now();
  const Answer flat = answer(at_512_nodes(Placement::Default), &profile);
  const Answer aware = answer(at_512_nodes(Placement::NodeAware), &profile);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(took.count(), 4);  // two of them
#endif
  EXPECT_EQ(aware.nodes, (placement::Position{16, 8, 4}));
  EXPECT_FALSE(flat.nodes);
  EXPECT_LT(aware.most_leaving, 0.8 * static_cast<double>(flat.most_leaving));
  ASSERT_TRUE(flat.prediction && flat.prediction->seconds);
  ASSERT_TRUE(aware.prediction && aware.prediction->seconds);
  EXPECT_GT(*flat.prediction->seconds / *aware.prediction->seconds, 1.1)
      << *flat.prediction->seconds << " s and " << *aware.prediction->seconds;
}

TEST(Plan, one_part_sends_to_itself_alone) {
  Question asked;
  asked.grid = {32, 32, 32};
  asked.radius = 2;
  const Answer found = answer(asked, nullptr);
  EXPECT_EQ(found.shares.self, found.shares.all());
  EXPECT_EQ(found.most_sent, (36 * 36 * 36 - 32 * 32 * 32) * 8);
  EXPECT_EQ(found.most_messages, 0);
  EXPECT_EQ(found.most_leaving, 0);
}

TEST(Plan, what_is_impossible_is_refused_with_its_values) {
  const auto refusal = [](const auto& change) -> std::string {
    Question asked;
    asked.grid = {64, 64, 64};
    change(asked);
    try {
      (void)answer(asked, nullptr);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(refusal([](Question& q) { q.nodes = 0; }),
            "0 nodes of 1 places: from 1 to 1048576 in all");
  EXPECT_EQ(refusal([](Question& q) { q.nodes = q.places = 1 << 11; }),
            "2048 nodes of 2048 places: from 1 to 1048576 in all");
  EXPECT_EQ(refusal([](Question& q) { q.radius = 65; }),
            "a radius of 65, but a part has 64 cells along x, of 1 parts");
  EXPECT_EQ(refusal([](Question& q) { q.grid[1] = 0; }),
            "a grid of 0 cells along y: from 1 to 4398046511104");
  EXPECT_EQ(refusal([](Question& q) { q.grid[2] = std::int64_t{1} << 43; }),
            "a grid of 8796093022208 cells along z: from 1 to 4398046511104");
  EXPECT_EQ(refusal([](Question& q) {
              q.grid = {1 << 20, 1 << 20, 1 << 20};
            }),
            "a grid of 1048576 x 1048576 x 1048576 cells of 8 bytes in 1 x 1 x 1 parts, radius 1: "
            "9.22e+18 bytes with ghost cells, more than 2^62");
  EXPECT_EQ(refusal([](Question& q) { q.cell_bytes = std::int64_t{1} << 60; }),
            "a grid of 64 x 64 x 64 cells of 1152921504606846976 bytes in 1 x 1 x 1 parts, radius "
            "1: 3.31e+23 bytes with ghost cells, more than 2^62");
  EXPECT_EQ(refusal([](Question&) {}), "");
}

}  // namespace
}  // namespace strake::plan
