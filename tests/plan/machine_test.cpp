// Machines that ship with the program, and the lower bound of an exchange by their links.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "placement/links.hpp"
#include "plan/bound.hpp"
#include "plan/machine_file.hpp"
#include "plan/plan.hpp"
#include "strake/error.hpp"

namespace strake::plan {
namespace {

std::string error_of(const auto& does) {
  try {
    does();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

Question on(const std::string& machine, int nodes, const Index3& grid) {
  Question asked;
  asked.machine = std::make_shared<Machine>(find_machine(machine));
  asked.places = asked.machine->places_per_node;
  asked.nodes = nodes;
  asked.grid = grid;
  return asked;
}

TEST(Machine, all_that_ship_are_read_and_name_their_sources) {
  std::set<std::string> names;
  for (const auto& [name, text] : shipped_machines()) {
    const Machine machine = machine_of(text, std::string(name));
    EXPECT_EQ(machine.name, name);
    EXPECT_GT(machine.leaving.gb_per_second, 0);
    EXPECT_GE(machine.sources.size(), 2U);
    for (const std::string& source : machine.sources)
      EXPECT_TRUE(source.find("not measured") != std::string::npos ||
                  source.find(": as ") != std::string::npos)
          << name << ": " << source;
    names.emplace(name);
  }
  EXPECT_EQ(names, (std::set<std::string>{"dgx-h100", "gb200-nvl72", "summit", "two-socket-xeon"}));
}

TEST(Bound, sockets_share_the_bus) {
  const Machine summit = find_machine("summit");
  LinkBytes links(summit, 2);
  links.add({1, 0}, {1, 3}, 64'000'000);
  EXPECT_NEAR(links.slowest().us, 1280, 1e-6);  // the NVLink of GPU 0 to its socket
  EXPECT_EQ(links.slowest().link, "NVLink from GPU 0 to its socket of node 1");
  links.add({1, 1}, {1, 4}, 64'000'000);
  EXPECT_NEAR(links.slowest().us, 2000, 1e-6);
  EXPECT_EQ(links.slowest().link, "X-bus from socket 0 of node 1");
  links.add({0, 5}, {1, 0}, 75'000'000);
  EXPECT_NEAR(links.slowest().us, 3000, 1e-6);
  EXPECT_EQ(links.slowest().link, "2 EDR ports of node 0, sending");
}

TEST(Bound, nodes_of_a_domain_reach_each_other_without_the_network) {
  const Machine rack = find_machine("gb200-nvl72");
  LinkBytes links(rack, 36);
  links.add({0, 2}, {17, 3}, 900'000'000);
  EXPECT_NEAR(links.slowest().us, 1000, 1e-6);
  EXPECT_EQ(links.slowest().link, "NVLink out of GPU 2 of node 0");
  links.add({17, 3}, {18, 0}, 400'000'000);
  EXPECT_NEAR(links.slowest().us, 2000, 1e-6);
  EXPECT_EQ(links.slowest().link, "4 NICs of 400 Gb/s of node 17, sending");
}

TEST(Bound, bytes_that_leave_a_node_over_the_rate_of_its_ports) {
  Question asked = on("dgx-h100", 2, {128, 64, 64});
  asked.places = 1;
  const Answer found = answer(asked, nullptr);
  // Ghost cells but those along y and z alone, which a part gets from itself.
  const int leaving = 8 * ((66 * 66 * 66 - 64 * 64 * 64) - (66 * 66 - 64 * 64) * 64);
  ASSERT_TRUE(found.bound && found.default_bound);
  EXPECT_EQ(found.bound->bytes, leaving);
  EXPECT_NEAR(found.bound->us, leaving / 400e3, 1e-9);
  EXPECT_EQ(found.bound->link, "8 NDR ports of node 0, sending");
  EXPECT_EQ(found.most_leaving, leaving);
}

TEST(Machine, nodes_of_a_domain_count_as_one) {
  Question asked = on("gb200-nvl72", 18, {1024, 1024, 1024});
  for (const Placement placement : {Placement::Default, Placement::NodeAware}) {
    asked.placement = placement;
    const Answer found = answer(asked, nullptr);
    EXPECT_EQ(found.shares.network, 0);
    EXPECT_EQ(found.most_leaving, 0);
    EXPECT_GT(found.shares.node, 0);
  }
  asked.nodes = 36;
  const Answer aware = answer(asked, nullptr);
  EXPECT_EQ(aware.nodes_first, 18);
  EXPECT_EQ(aware.nodes, (placement::Position{2, 1, 1}));
  asked.nodes = 20;  // one domain is not whole: the grid is divided among nodes
  EXPECT_EQ(answer(asked, nullptr).nodes_first, 1);
}

TEST(Machine, the_bottleneck_is_never_slower_than_by_the_sum) {
  Question asked = on("summit", 32, {3072, 2048, 512});
  asked.radius = 3;
  asked.placement = Placement::NodeAware;
  const Answer by_sum = answer(asked, nullptr);
  asked.objective = Objective::Bottleneck;
  const Answer by_bottleneck = answer(asked, nullptr);
  EXPECT_GE(by_bottleneck.assignment->cost, by_sum.assignment->cost * (1 - 1e-12));
  EXPECT_LE(by_bottleneck.bound->us, by_sum.bound->us);
  EXPECT_LE(by_sum.bound->us, by_sum.default_bound->us);
  EXPECT_FALSE(by_sum.assignment_slowest_us);
  EXPECT_GT(by_bottleneck.assignment_slowest_us.value_or(0), 0);
}

/// The refusal of a machine that ships with the program, if it says `to` in place of `from`.
std::string refusal(const std::string& machine, const std::string& from, const std::string& to) {
  for (const auto& [name, text] : shipped_machines()) {
    if (name != machine) continue;
    std::string made(text);
    const std::size_t at = made.find(from);
    if (at == std::string::npos) return "nothing to replace";
    made.replace(at, from.size(), to);
    return error_of([&] { (void)machine_of(made, "f"); });
  }
  return "no such machine";
}

TEST(Machine, wrong_places_are_refused) {
  constexpr const char* kXeon = "two-socket-xeon";
  for (const std::string range :
       {"0-", "0-99999999999999999999999", "99999999999999999999999-0", "-3", "0-3x", "", "5"})
    EXPECT_EQ(refusal(kXeon, "\"from\": \"0-39\"", "\"from\": \"" + range + "\""),
              "f: from: \"" + range + "\" is no range of places");
  EXPECT_EQ(refusal("summit", "\"from\": [0, 1, 2]", "\"from\": [0, 1, 0]"),
            "f: from: place 0 twice");
  EXPECT_EQ(refusal(kXeon, "[40, 40]", "[3.7, 3]"), "f: blocks: from 1 to 1024, not 3.7");
  EXPECT_EQ(refusal(kXeon, "[40, 40]", "[-1, 6]"), "f: blocks: from 1 to 1024, not -1");
  EXPECT_EQ(refusal(kXeon, "[40, 40]", "40"), "f: blocks: a list belongs there, not 40");
  EXPECT_EQ(refusal(kXeon, "[40, 40]", "[40, 39]"),
            "f: between_gbs: blocks of 79 places, but a node has 80");
}

TEST(Machine, wrong_types_and_unknown_keys_are_named) {
  EXPECT_EQ(
      refusal("summit", "\"shared\": [", "\"shared\": null, \"rest\": ["),
      "f: rest: no key of a machine; these are name, title, places, places_per_node, "
      "nodes_per_domain, between_gbs, between_source, pairs_are_links, port, shared, leaving");
  const std::string start = R"({"name": "a", "title": "b", "places": "cores", "places_per_node": 2,
      "nodes_per_domain": 1, "between_gbs": [[0, 9], [9, 0]], "between_source": "-", )";
  const std::string end = R"(, "leaving": {"name": "NIC", "gbs": 1, "source": "-"}})";
  const auto told = [&](const std::string& rest) {
    return error_of([&] { (void)machine_of(start + rest + end, "f"); });
  };
  EXPECT_EQ(told(R"("shared": [])"), "");
  EXPECT_EQ(told(R"("shared": null)"), "f: shared: a list belongs there, not null");
  EXPECT_EQ(told(R"("shared": "bus")"), "f: shared: a list belongs there, not \"bus\"");
  EXPECT_EQ(told(R"("shared": [7])"), "f: shared: an object belongs there, not 7");
  EXPECT_EQ(told(R"("shared": [], "port": 3)"), "f: port: an object belongs there, not 3");
  EXPECT_EQ(told(R"("shared": [], "pairs_are_links": 1)"),
            "f: pairs_are_links: true or false belongs there, not 1");
  EXPECT_EQ(told(R"("shared": [{"name": "x", "gb": 1}])"),
            "f: gb: no key of shared; these are name, gbs, latency_us, source, from, to, each_of, "
            "each_to");
  EXPECT_EQ(refusal("summit", "[0, 50, 50, 32, 32, 32]", "[0, 50, \"50\", 32, 32, 32]"),
            "f: between_gbs: a number belongs there, not \"50\"");
  EXPECT_EQ(error_of([] { (void)find_machine("/"); }), "/ can't be read");
  const Machine pair = machine_of(start + R"("shared": [], "pairs_are_links": true)" + end, "f");
  EXPECT_EQ(pair.links.all().at(0).name, "core 0 to core 1");
}

TEST(Machine, the_sum_is_never_larger_than_by_the_bottleneck) {
  Question asked = on("two-socket-xeon", 4, {512, 512, 512});
  for (const Placement placement : {Placement::Default, Placement::NodeAware}) {
    asked.placement = placement;
    asked.objective = Objective::Sum;
    const Answer by_sum = answer(asked, nullptr);
    asked.objective = Objective::Bottleneck;
    const Answer by_bottleneck = answer(asked, nullptr);
    EXPECT_LE(by_sum.assignment->cost, by_bottleneck.assignment->cost * (1 + 1e-12));
  }
}

TEST(Machine, what_is_wrong_is_said) {
  EXPECT_EQ(error_of([] { (void)find_machine("sumit"); }),
            "no machine is called sumit; there are dgx-h100, gb200-nvl72, summit, two-socket-xeon "
            "(or name a file, ./FILE.json)");
  EXPECT_EQ(error_of([] { (void)find_machine("./none.json"); }), "./none.json can't be read");
  EXPECT_EQ(error_of([] { (void)machine_of("{}", "f"); }), "f: name: missing");
  EXPECT_EQ(error_of([] {
              Question asked = on("summit", 1, {64, 64, 64});
              asked.places = 7;
              (void)answer(asked, nullptr);
            }),
            "7 GPUs a node, but summit has 6");
  const auto changed = [](const std::string& from, const std::string& to) {
    for (const auto& [name, text] : shipped_machines()) {
      if (name != "summit") continue;
      std::string made(text);
      made.replace(made.find(from), from.size(), to);
      return error_of([&] { (void)machine_of(made, "f"); });
    }
    return std::string("no summit");
  };
  EXPECT_EQ(changed("\"from\": [0, 1, 2]", "\"from\": [0, 1, 6]"),
            "f: from: place 6, but a node has 6");
  EXPECT_EQ(changed("\"from\": [0, 1, 2]", "\"from\": \"2-1\""),
            "f: from: \"2-1\" is no range of places");
  EXPECT_EQ(changed("\"gbs\": 64", "\"gbs\": 0"),
            "f: a bandwidth of 0 GB/s of link X-bus from socket 0");
  EXPECT_EQ(changed("[0, 50, 50, 32, 32, 32]", "[0, 50, 50, 32, 32]"),
            "f: between_gbs: 5 numbers in row 0, but a node has 6 places");
  EXPECT_EQ(changed("[0, 50, 50, 32, 32, 32]", "[0, 50, -1, 32, 32, 32]"),
            "f: a bandwidth of -1 from place 0 to 2");
  EXPECT_EQ(changed("\"places_per_node\": 6", "\"places_per_node\": 0"),
            "f: places_per_node: from 1 to 1024, not 0");
}

}  // namespace
}  // namespace strake::plan
