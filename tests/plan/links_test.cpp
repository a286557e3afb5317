// Assignments by the slowest link, against exhaustive search.
#include "placement/links.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "strake/error.hpp"

namespace strake::placement {
namespace {

using Order = std::vector<std::size_t>;

/// Two sockets: a link each way between them, none within.
Links two_sockets(std::size_t places, double rate) {
  Links links(places);
  Order first(places / 2);
  std::iota(first.begin(), first.end(), std::size_t{0});
  Order second(places - first.size());
  std::iota(second.begin(), second.end(), first.size());
  links.add({"bus", rate, 0}, first, second);
  links.add({"bus back", rate, 0}, second, first);
  return links;
}

/// Two groups of places: a link for each pair of a group, one each way between the groups.
Links two_groups(std::size_t places) {
  Links links = two_sockets(places, 64);
  for (std::size_t a = 0; a < places; ++a)
    for (std::size_t b = 0; b < places; ++b)
      if (a != b && (a < places / 2) == (b < places / 2)) links.add({"pair", 50, 0}, {{a}}, {{b}});
  return links;
}

/// The slowest link and the sum of all, by adding up each pair's bytes.
std::pair<double, double> times_of(const Square& flows, const Links& links, const Order& at) {
  std::vector<double> bytes(links.all().size());
  for (std::size_t a = 0; a < at.size(); ++a)
    for (std::size_t b = 0; b < at.size(); ++b)
      if (a != b)
        for (const std::size_t link : links.taken(at[a], at[b])) bytes[link] += flows(a, b);
  std::pair<double, double> made;
  for (std::size_t link = 0; link < bytes.size(); ++link) {
    const double us = bytes[link] / 1e3 / links.all()[link].gb_per_second;
    made.first = std::max(made.first, us);
    made.second += us;
  }
  return made;
}

Square random_flows(std::size_t size, std::mt19937& random) {
  std::uniform_int_distribution<int> bytes(0, 9);
  Square flows(size);
  for (std::size_t a = 0; a < size; ++a)
    for (std::size_t b = 0; b < size; ++b)
      if (a != b) flows(a, b) = 1000 * bytes(random);
  return flows;
}

TEST(AssignByBottleneck, is_the_best_of_all_and_the_sum_breaks_ties) {
  const Links links = two_groups(5);
  std::mt19937 random(7);
  for (int instance = 0; instance < 50; ++instance) {
    const Square flows = random_flows(5, random);
    Order at(5);
    std::iota(at.begin(), at.end(), std::size_t{0});
    auto best = times_of(flows, links, at);
    while (std::ranges::next_permutation(at).found) {
      const auto found = times_of(flows, links, at);
      const bool is_equal = std::abs(found.first - best.first) <= 1e-9 * best.first;
      if (is_equal ? found.second < best.second : found.first < best.first) best = found;
    }
    const Assignment assigned = assign_by_bottleneck(flows, links);
    const auto got = times_of(flows, links, assigned.place_of);
    EXPECT_NEAR(got.first, best.first, 1e-9 * best.first) << "instance " << instance;
    EXPECT_NEAR(got.second, best.second, 1e-9 * best.second) << "instance " << instance;
    EXPECT_NEAR(assigned.cost, got.first, 1e-9 * got.first);
    EXPECT_NEAR(slowest_us(flows, links, assigned.place_of), got.first, 1e-9 * got.first);
  }
}

TEST(AssignByBottleneck, more_than_8_places_are_searched) {
  // Even parts exchange with even ones, odd with odd: nothing needs the bus but 1 byte.
  Square flows(12);
  for (std::size_t a = 0; a < 12; ++a)
    for (std::size_t b = 0; b < 12; ++b)
      if (a != b && a % 2 == b % 2) flows(a, b) = 50e3;
  flows(0, 1) = 1;
  const Links links = two_groups(12);
  const Assignment assigned = assign_by_bottleneck(flows, links);
  EXPECT_NEAR(assigned.cost, 1, 1e-9);  // 50 kB at 50 GB/s
  Order places = assigned.place_of;
  std::ranges::sort(places);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(places[i], i);
}

TEST(AssignByBottleneck, a_shared_link_counts_where_the_sum_is_blind) {
  // Each pair is as fast as any other: the sum sees no difference, the shared link does.
  Links links = two_groups(4);
  Square flows(4);
  flows(0, 2) = flows(1, 3) = flows(2, 0) = flows(3, 1) = 64e3;
  const Square equal(4, 50);
  EXPECT_EQ(assign(flows, equal).place_of, (Order{0, 1, 2, 3}));
  EXPECT_NEAR(slowest_us(flows, links, {0, 1, 2, 3}), 2, 1e-9);
  EXPECT_NEAR(assign_by_bottleneck(flows, links).cost, 1.28, 1e-9);
}

/// Parts of a grid that is open, with bytes between neighbours along x, y and z.
Square grid_flows(const std::array<std::size_t, 3>& parts) {
  Square flows(parts[0] * parts[1] * parts[2]);
  for (std::size_t a = 0; a < flows.size(); ++a) {
    const std::array<std::size_t, 3> at{a % parts[0], a / parts[0] % parts[1],
                                        a / parts[0] / parts[1]};
    std::size_t stride = 1;
    for (std::size_t axis = 0; axis < 3; stride *= parts[axis++])
      if (at[axis] + 1 < parts[axis]) flows(a, a + stride) = flows(a + stride, a) = 1e5;
  }
  return flows;
}

TEST(AssignByBottleneck, pairs_without_a_link_are_free) {
  const Links links = two_sockets(80, 67.2);
  const Square rates = slowest_rates(links);
  EXPECT_DOUBLE_EQ(rates(0, 79), 67.2);
  EXPECT_DOUBLE_EQ(rates(0, 39), 67.2e3);
  const Square flows = grid_flows({4, 4, 5});
  Order order(80);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const double in_order = slowest_us(flows, links, order);
  EXPECT_LE(slowest_us(flows, links, search(flows, rates).place_of), in_order);
  const Assignment found = assign_by_bottleneck(flows, links);
  EXPECT_NEAR(found.cost, slowest_us(flows, links, found.place_of), 1e-9 * found.cost);
  EXPECT_NEAR(found.cost, 16e5 / 67.2e3 + 4e5 / 67.2e3, 1e-9);  // 2 1/2 layers of 4 x 4 parts
}

TEST(AssignByBottleneck, is_no_worse_than_the_order_however_many_places) {
  std::mt19937 random(3);
  for (const std::size_t size : {std::size_t{24}, std::size_t{100}}) {
    for (const Links& links : {two_groups(size), two_sockets(size, 67.2)}) {
      const Square flows = size == 24 ? random_flows(size, random) : grid_flows({size / 10, 5, 2});
      Order order(size);
      std::iota(order.begin(), order.end(), std::size_t{0});
      const Assignment found = assign_by_bottleneck(flows, links);
      const auto got = times_of(flows, links, found.place_of);
      EXPECT_NEAR(found.cost, got.first, 1e-9 * got.first) << size;
      EXPECT_LE(got.first, times_of(flows, links, order).first * (1 + 1e-9)) << size;
    }
  }
}

TEST(AssignByBottleneck, parts_stay_where_the_search_would_take_too_long) {
  std::mt19937 random(3);
  const Square flows = random_flows(700, random);
  const Links links = two_sockets(700, 67.2);
  Order order(700);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const Assignment found = assign_by_bottleneck(flows, links);
  EXPECT_EQ(found.place_of, order);
  EXPECT_NEAR(found.cost, slowest_us(flows, links, order), 1e-9 * found.cost);
}

TEST(AssignByBottleneck, parts_stay_where_all_cost_the_same) {
  const Square flows(6, 100);
  EXPECT_EQ(assign_by_bottleneck(flows, Links(Square(6, 10))).place_of, (Order{0, 1, 2, 3, 4, 5}));
}

TEST(Link, latency_counts_once_and_for_bytes_alone) {
  const Link link{"network", 25, 2};
  EXPECT_DOUBLE_EQ(link.us_for(0), 0);
  EXPECT_DOUBLE_EQ(link.us_for(25e3), 3);
}

TEST(Links, bad_values_are_named) {
  const auto refusal = [](const auto& does) -> std::string {
    try {
      does();
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(refusal([] {
              Links(2).add({"bus", 0, 0}, {}, {});
            }),
            "a bandwidth of 0 GB/s of link bus");
  EXPECT_EQ(refusal([] {
              Links(2).add({"bus", 1, -1}, {}, {});
            }),
            "a latency of -1 us of link bus");
  EXPECT_EQ(refusal([] {
              Links(2).add({"bus", 1, 0}, {{0}}, {{2}});
            }),
            "place 2 of link bus: there are 2");
  EXPECT_EQ(refusal([] { (void)assign_by_bottleneck(Square(3), Links(2)); }),
            "flows of 3 parts and links of 2 places");
  EXPECT_EQ(refusal([] { (void)assign_by_bottleneck(Square(2, -1), Links(2)); }),
            "a flow of -1 from part 0 to 0");
}

}  // namespace
}  // namespace strake::placement
