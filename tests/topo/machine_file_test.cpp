// Made-up machines, written as files and read back as `strake plan` reads them.
#include "topo/machine_file.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "plan/machine_file.hpp"
#include "strake/error.hpp"

namespace strake::topo {
namespace {

const Nic kPort{"mlx5_0:1", 400'000, 0, "InfiniBand"};

View gpus(int count, int nvlinks, bool switched) {
  View view;
  view.machine.host = "made";
  view.machine.nics = {kPort};
  for (int index = 0; index < count; ++index) {
    Gpu gpu;
    gpu.index = index;
    gpu.name = "NVIDIA Fake 9000";
    gpu.pcie_generation = 5;
    gpu.pcie_width = 16;
    gpu.nvlinks = nvlinks;
    gpu.nvlink_mbps = nvlinks > 0 ? 25'000 : 0;
    gpu.switched = switched;
    view.machine.gpus.push_back(gpu);
    for (int other = 0; other < index; ++other) {
      const bool is_nvlink = nvlinks > 0;
      view.machine.links.push_back({other, index, is_nvlink ? LinkKind::NvLink : LinkKind::Pcie,
                                    nvlinks, switched, is_nvlink ? "" : "SYS",
                                    is_nvlink ? 25e9 * nvlinks : machine::pcie_rate(5, 16)});
    }
  }
  return view;
}

/// Two sockets with a NUMA node each, of three cores and of two, and a node of memory alone.
View cores() {
  View view;
  view.machine.host = "made";
  view.machine.nics = {kPort};
  view.machine.sockets = {{0, "Example 1", 3, 3}, {1, "Example 1", 2, 2}};
  view.machine.nodes = {
      {2, 0, 1 << 20, 3, "0-2", {}}, {0, 0, 1 << 20, 3, "0-2", {}}, {1, 1, 1 << 20, 2, "3,4", {}}};
  return view;
}

void measure(View& view, const std::string& from, const std::string& to, double gbs,
             bool doubtful = false) {
  const std::size_t row = view.measured.place(from);
  const std::size_t column = view.measured.place(to);
  view.measured.cells[row][column] = {gbs * 1e9, 0, 64 << 20, from + "-" + to, doubtful};
  view.source = "made, 2025-11-21";
}

plan::Machine read_back(const View& view, std::optional<double> nic_gbs = {}) {
  return plan::machine_of(to_machine_file(view, nic_gbs), "made.json");
}

std::string refusal(const View& view) {
  try {
    (void)to_machine_file(view, {});
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(MachineFile, has_a_port_for_each_gpu_behind_switches) {
  const plan::Machine machine = read_back(gpus(4, 18, true));
  EXPECT_EQ(machine.name, "made");
  EXPECT_EQ(machine.title, "4 NVIDIA Fake 9000 behind NVSwitches, 1 InfiniBand port of 400 Gb/s");
  EXPECT_EQ(machine.places, "GPUs");
  EXPECT_EQ(machine.places_per_node, 4);
  EXPECT_EQ(machine.bandwidths(0, 3), 450);
  EXPECT_EQ(machine.bandwidths(2, 2), 0);
  EXPECT_EQ(machine.out.size(), 4U);
  ASSERT_EQ(machine.links.all().size(), 8U);
  EXPECT_EQ(machine.links.all()[0].name, "NVLink out of GPU 0");
  EXPECT_EQ(machine.links.all()[0].gb_per_second, 450);
  EXPECT_EQ(machine.leaving.name, "1 InfiniBand port of 400 Gb/s");
  EXPECT_EQ(machine.leaving.gb_per_second, 50);
  for (const std::string& source : machine.sources)
    EXPECT_NE(source.find("not measured"), std::string::npos) << source;
}

TEST(MachineFile, has_a_port_for_each_gpu_on_pcie) {
  const plan::Machine machine = read_back(gpus(2, 0, false));
  EXPECT_NEAR(machine.bandwidths(0, 1), 63.015, 1e-9);
  ASSERT_EQ(machine.links.all().size(), 4U);
  EXPECT_EQ(machine.links.all()[0].name, "PCIe out of GPU 0");
  EXPECT_NEAR(machine.links.all()[0].gb_per_second, 63.015, 1e-9);
}

TEST(MachineFile, has_a_link_for_each_pair_of_gpus_otherwise) {
  const plan::Machine direct = read_back(gpus(3, 2, false));
  EXPECT_TRUE(direct.out.empty());
  ASSERT_EQ(direct.links.all().size(), 6U);
  EXPECT_EQ(direct.links.all()[0].gb_per_second, 50);
  View mixed = gpus(3, 2, false);
  mixed.machine.links[0].kind = LinkKind::Pcie;
  EXPECT_EQ(read_back(mixed).links.all().size(), 6U);
}

TEST(MachineFile, takes_what_was_measured_of_all_pairs) {
  View view = gpus(2, 18, true);
  measure(view, "gpu0", "gpu1", 373.1574);
  EXPECT_EQ(read_back(view).bandwidths(0, 1), 450);
  measure(view, "gpu1", "gpu0", 370);
  const plan::Machine machine = read_back(view);
  EXPECT_EQ(machine.bandwidths(0, 1), 373.157);
  EXPECT_EQ(machine.bandwidths(1, 0), 370);
  EXPECT_EQ(machine.sources[0],
            "between places: Measured: copies of 64 MiB, one at a time; the profile of made, "
            "2025-11-21");
  EXPECT_EQ(machine.links.all().size(), 4U);
  measure(view, "gpu1", "gpu0", 370, true);
  EXPECT_TRUE(read_back(view).sources[0].ends_with("; 1 result in doubt"));
  view.other_machine = true;
  EXPECT_NE(read_back(view).sources[0].find("profile of another machine: made"), std::string::npos);
}

TEST(MachineFile, has_the_cores_of_each_node) {
  View view = cores();
  for (const char* from : {"node0", "node1"})
    for (const char* to : {"node0", "node1"})
      measure(view, from, to, std::string(from) == to ? 12 : 8);
  const auto file = nlohmann::json::parse(to_machine_file(view, {}));
  EXPECT_EQ(file["between_gbs"],
            nlohmann::json({{"blocks", {3, 2}}, {"within", 12.0}, {"across", 8.0}}));
  const plan::Machine blocks = read_back(view);
  EXPECT_EQ(blocks.title, "5 cores of 2 Example 1, 1 InfiniBand port of 400 Gb/s");
  EXPECT_EQ(blocks.places, "cores");
  EXPECT_EQ(blocks.places_per_node, 5);
  EXPECT_TRUE(blocks.links.all().empty());
  EXPECT_NE(blocks.sources[0].find("64 MiB by one core"), std::string::npos) << blocks.sources[0];
  measure(view, "node1", "node0", 7);
  const plan::Machine matrix = read_back(view);
  EXPECT_EQ(matrix.bandwidths(2, 3), 8);
  EXPECT_EQ(matrix.bandwidths(3, 2), 7);
  EXPECT_EQ(matrix.bandwidths(3, 4), 12);
}

TEST(MachineFile, may_have_one_node_or_one_place) {
  View node = cores();
  node.machine.nodes.resize(2);
  measure(node, "node0", "node0", 12);
  EXPECT_EQ(read_back(node).bandwidths(0, 2), 12);
  View core = cores();
  core.machine.nodes = {{0, 0, 1 << 20, 1, "0", {}}};
  EXPECT_EQ(read_back(core).places_per_node, 1);
  const plan::Machine gpu = read_back(gpus(1, 18, true));
  EXPECT_EQ(gpu.places_per_node, 1);
  EXPECT_TRUE(gpu.links.all().empty());
}

TEST(MachineFile, sums_ports_of_infiniband_else_of_ethernet) {
  View view = gpus(2, 18, true);
  view.machine.nics = {kPort, kPort, {"eth0", 10'000, 0, "Ethernet"}};
  EXPECT_EQ(read_back(view).leaving.gb_per_second, 100);
  EXPECT_EQ(read_back(view).leaving.name, "2 InfiniBand ports of 400 Gb/s");
  view.machine.nics.erase(view.machine.nics.begin(), view.machine.nics.begin() + 2);
  view.machine.nics.push_back({"eth1", 0, 0, "Ethernet"});
  EXPECT_EQ(read_back(view).leaving.gb_per_second, 1.25);
  EXPECT_EQ(read_back(view).leaving.name, "1 Ethernet port of 10 Gb/s");
  EXPECT_EQ(read_back(view, 12.5).leaving.gb_per_second, 12.5);
  EXPECT_NE(read_back(view, 12.5).sources.back().find("--nic-gbs"), std::string::npos);
}

TEST(MachineFile, says_what_it_needs) {
  View view = gpus(2, 18, true);
  view.machine.nics.clear();
  EXPECT_NE(refusal(view).find("none is up here: give it by --nic-gbs GBS"), std::string::npos);
  view.machine.nics = {{"eth0", 0, 0, "Ethernet"}};
  EXPECT_NE(refusal(view).find("rates of those here are not known: give it by --nic-gbs GBS"),
            std::string::npos);
  view = gpus(2, 18, true);
  view.machine.links[0].bytes_per_second = 0;
  EXPECT_NE(refusal(view).find("from GPU 0 to GPU 1 is not known: `strake measure`"),
            std::string::npos);
  view = cores();
  measure(view, "node0", "node1", 8);
  EXPECT_NE(refusal(view).find("strake measure --filter '^copy/'"), std::string::npos);
  view = {};
  view.machine.notes = {"built without hwloc", "no NVIDIA GPU"};
  EXPECT_NE(refusal(view).find("neither is known: built without hwloc; no NVIDIA GPU"),
            std::string::npos);
}

}  // namespace
}  // namespace strake::topo
