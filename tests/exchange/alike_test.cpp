// Ranks that give a Grid or an Exchange what they have to give alike, and don't: all are told.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cells.hpp"
#include "refusal.hpp"
#include "strake/error.hpp"
#include "strake/exchange.hpp"
#include "strake/grid.hpp"
#include "world.hpp"

namespace strake {
namespace {

/// The last rank gives something else.
bool differs() { return rank() == ranks() - 1; }
std::string told(const std::string& what, const std::string& there, const std::string& here) {
  return what + " is " + there + " on rank " + std::to_string(ranks() - 1) + " and " + here +
         " on rank 0";
}

const GridOptions kOptions{.radius = Radius::faces(1), .periodic = {true, true, false}};

std::string refused_grid(const std::vector<std::int64_t>& extent, const GridOptions& options) {
  return refusal_on_all([&] { const Grid grid(MPI_COMM_WORLD, extent, options); });
}

class Alike : public testing::Test {
 protected:
  void SetUp() override {
    if (ranks() == 1) GTEST_SKIP() << "one rank differs from none";
  }
};

TEST_F(Alike, the_extent_of_a_grid) {
  const std::int64_t x = differs() ? 32 : 24;
  const std::string both = told("the extent along x", "32", "24");
  // One axis; cut along the axis that differs; cut along the other one.
  EXPECT_EQ(refused_grid({x}, {.radius = 1, .counts = {ranks(), 1, 1}}), both);
  EXPECT_EQ(refused_grid({x, 8}, {.radius = 1, .counts = {ranks(), 1, 1}}), both);
  EXPECT_EQ(refused_grid({x, 8}, {.radius = 1, .counts = {1, ranks(), 1}}), both);
  EXPECT_EQ(refused_grid({24, 24, x}, {}), told("the extent along z", "32", "24"));
  std::vector<std::int64_t> extent{24, 8};
  if (differs()) extent.pop_back();
  EXPECT_EQ(refused_grid(extent, {}), told("the number of axes", "1", "2"));
}

TEST_F(Alike, the_ends_and_the_cuts_of_a_grid) {
  GridOptions options = kOptions;
  options.counts = {ranks(), 1, 1};
  if (differs()) options.periodic[1] = false;
  EXPECT_EQ(refused_grid({24, 8}, options), told("periodic along y", "false", "true"));
  options = kOptions;
  options.counts = {ranks(), 1, 1};
  if (differs()) options.counts = {1, ranks(), 1};
  EXPECT_EQ(refused_grid({24, 24}, options),
            told("the count of subgrids along x", "1", std::to_string(ranks())));
  // 0 is 1 where others are given.
  options.counts = differs() ? std::array{ranks(), 0, 1} : std::array{ranks(), 1, 0};
  EXPECT_EQ(refused_grid({24, 24}, options), "");
}

/// Returns what add() says if the last rank adds something else.
std::string refused_field(const std::function<void(Grid&)>& usual,
                          const std::function<void(Grid&)>& other) {
  Grid grid(MPI_COMM_WORLD, {24, 24}, kOptions);
  return refusal_on_all([&] { (differs() ? other : usual)(grid); });
}

TEST_F(Alike, the_fields_of_a_grid) {
  const auto add = []<typename T>(const std::string& name, T, const FieldOptions& options = {}) {
    return [=](Grid& grid) { (void)grid.add<T>(name, options); };
  };
  EXPECT_EQ(refused_field(add("u", 0.0), add("v", 0.0)), told("the name of field 0", "'v'", "'u'"));
  EXPECT_EQ(refused_field(add("u", 0.0), add("u", 0.0F)),
            told("the element size of field 'u'", "4 bytes", "8 bytes"));
  EXPECT_EQ(refused_field(add("u", 0), add("u", 0.0F)),
            told("the element type of field 'u'", "Float32", "Int32"));
  EXPECT_EQ(refused_field(add("u", std::array<int, 4>{}), add("u", std::array<float, 4>{})),
            told("the element type of field 'u'", "4 x Float32", "4 x Int32"));
  EXPECT_EQ(refused_field(add("u", Vec3{}), add("u", std::array<std::int64_t, 3>{})),
            told("the element type of field 'u'", "3 x Int64", "no number"));
  EXPECT_EQ(refused_field(add("u", 0, {.at = face_x}), add("u", 0, {.at = {true, true, false}})),
            told("the place in the cell of field 'u'", "face_x and face_y", "face_x"));
  EXPECT_EQ(refused_field(add("u", 0), add("u", 0, {.at = node})),
            told("the place in the cell of field 'u'", "node", "cell"));
  EXPECT_EQ(refused_field(add("u", 0), add("u", 0, {.radius = Radius::faces(1).set({1, 0, 0}, 2)})),
            told("the radius in direction +x of field 'u'", "2", "1"));
}

TEST_F(Alike, the_order_of_fields) {
  Grid grid(MPI_COMM_WORLD, {24, 8}, kOptions);
  (void)grid.add<double>("first");
  EXPECT_EQ(refusal_on_all([&] { (void)grid.add<double>(differs() ? "v" : "u"); }),
            told("the name of field 1", "'v'", "'u'"));
  // The grid is as it was.
  (void)grid.add<double>("u");
  grid.exchange().wait();
}

TEST_F(Alike, default_radius_and_second_buffers_may_differ) {
  GridOptions options = kOptions;
  if (differs()) options.radius = 2;
  Grid grid(MPI_COMM_WORLD, {24, 24}, options);
  auto u = grid.add<std::int64_t>("u", {.radius = 1, .next = !differs()});
  fill(u.view(), 0, 0);
  grid.exchange().wait();
  check(u.view(), {grid, options.periodic, 1, {}, grid.extent()}, 0, 0);
  EXPECT_EQ(refusal_on_all([&] { (void)grid.add<int>("v"); }),
            told("the radius in direction -x-y of field 'v'", "2", "0"));
}

TEST_F(Alike, what_an_exchange_of_a_grid_is_of) {
  Grid grid(MPI_COMM_WORLD, {24, 24}, kOptions);
  auto u = grid.add<double>("u"), v = grid.add<double>("v");
  const std::string fields = "the list of fields of an exchange";
  EXPECT_EQ(refusal_on_all([&] { (void)grid.exchange({}, {differs() ? v : u}); }),
            told(fields, "'v'", "'u'"));
  EXPECT_EQ(refusal_on_all([&] { differs() ? grid.prepare({u}) : grid.prepare(); }),
            told(fields, "'u'", "'u', 'v'"));
  EXPECT_EQ(refusal_on_all([&] { grid.accumulate({}, {differs() ? v : u}, sum<double>()); }),
            told(fields, "'v'", "'u'"));
  EXPECT_EQ(refusal_on_all([&] {
              grid.prepare({}, {.axes = {true, !differs(), true}});
            }),
            told("GhostOptions::axes along y", "false", "true"));
  EXPECT_EQ(refusal_on_all([&] { grid.prepare({}, {.depth = differs() ? 1 : -1}); }),
            told("GhostOptions::depth", "1", "-1"));
  grid.exchange().wait();
}

TEST(Communicator, intercommunicators_and_null_are_refused) {
  const ExchangePart none;
  EXPECT_EQ(refusal_on_all([&] {
              const Grid grid(MPI_COMM_NULL, {8, 8});
            }),
            "a grid on MPI_COMM_NULL");
  EXPECT_EQ(refusal_on_all([&] { const Exchange exchange(MPI_COMM_NULL, none); }),
            "an exchange on MPI_COMM_NULL");
  if (ranks() == 1) return;
  MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank() % 2, 5, &inter);
  EXPECT_EQ(refusal_on_all([&] {
              const Grid grid(inter, {8, 8});
            }),
            "a grid on an intercommunicator, whose ranks are two groups");
  EXPECT_EQ(refusal_on_all([&] { const Exchange exchange(inter, none); }),
            "an exchange on an intercommunicator, whose ranks are two groups");
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

}  // namespace
}  // namespace strake
