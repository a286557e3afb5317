// NICs of a made-up tree of sysfs.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "topo/reader.hpp"
#include "topo/show.hpp"

namespace strake::topo {
namespace {

namespace fs = std::filesystem;

/// A tree whose entries for devices are links to folders below `devices`, as the kernel's are.
class Sysfs : public testing::Test {
 protected:
  Sysfs() { fs::remove_all(root_); }
  ~Sysfs() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& line) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << line << "\n";
  }

  void link(const std::string& path, const std::string& device) const {
    fs::create_directories(root_ / "devices" / device);
    fs::create_directories((root_ / path).parent_path());
    fs::create_directory_symlink(root_ / "devices" / device, root_ / path);
  }

  void add_port(const std::string& name, const std::string& device, const std::string& state,
                const std::string& rate, const std::string& layer = "InfiniBand") const {
    const std::string folder = "class/infiniband/" + name;
    const std::string port = folder + "/ports/1/";
    link(folder + "/device", device);
    write(port + "state", state);
    write(port + "rate", rate);
    write(port + "link_layer", layer);
  }

  void add_net(const std::string& name, const std::string& device, const std::string& speed,
               const std::string& state = "up") const {
    const std::string folder = "class/net/" + name;
    write(folder + "/operstate", state);
    write(folder + "/speed", speed);
    if (!device.empty()) link(folder + "/device", device);
  }

  [[nodiscard]] Topology read() const {
    Topology machine;
    read_nics(machine, root_.string());
    return machine;
  }

  fs::path root_ = fs::path(testing::TempDir()) / "strake_topo_sysfs";
};

TEST_F(Sysfs, has_ports_of_infiniband_that_are_active) {
  write("devices/a/numa_node", "1");
  add_port("mlx5_0", "a", "4: ACTIVE", "400 Gb/sec (4X NDR)");
  add_port("mlx5_1", "b", "1: DOWN", "40 Gb/sec (4X QDR)");
  add_port("mlx5_2", "c", "5: ACTIVE_DEFER", "400 Gb/sec (4X NDR)");
  add_port("mlx5_3", "d", "4: ACTIVE", "2.5 Gb/sec (1X SDR)");
  const Topology machine = read();
  ASSERT_EQ(machine.nics.size(), 2U);
  EXPECT_EQ(machine.nics[0].name, "mlx5_0:1");
  EXPECT_EQ(machine.nics[0].kind, "InfiniBand");
  EXPECT_EQ(machine.nics[0].mbps, 400'000);
  EXPECT_EQ(machine.nics[0].node, 1);
  EXPECT_EQ(machine.nics[1].mbps, 2500);
  EXPECT_EQ(machine.nics[1].node, -1);
  EXPECT_TRUE(machine.notes.empty());
}

TEST_F(Sysfs, has_network_devices_of_hardware_that_are_up) {
  add_net("eth0", "a", "25000");
  add_net("eth1", "a", "25000");  // two ports of one device
  add_net("eth2", "b", "10000", "down");
  add_net("eth3", "c", "-1");
  add_net("bond0", "", "50000");
  add_net("wlan0", "d", "-1");
  fs::create_directories(root_ / "class/net/wlan0/wireless");
  const Topology machine = read();
  ASSERT_EQ(machine.nics.size(), 3U);
  EXPECT_EQ(machine.nics[0].name, "eth0");
  EXPECT_EQ(machine.nics[0].kind, "Ethernet");
  EXPECT_EQ(machine.nics[0].mbps, 25'000);
  EXPECT_EQ(machine.nics[1].name, "eth1");
  EXPECT_EQ(machine.nics[2].name, "eth3");
  EXPECT_EQ(machine.nics[2].mbps, 0);
  EXPECT_EQ(nics_text(machine.nics),
            "2 Ethernet ports of 25 Gb/s, 1 Ethernet port of unknown rate");
}

TEST_F(Sysfs, counts_a_port_once) {
  add_port("mlx5_0", "a", "4: ACTIVE", "400 Gb/sec (4X NDR)");
  add_net("ib0", "a", "400000");
  add_port("mlx5_1", "b", "4: ACTIVE", "100 Gb/sec (4X EDR)", "Ethernet");
  add_net("eth0", "b", "100000");
  add_net("eth1", "c", "1000");
  add_net("eth2", "c.1", "1000");
  link("devices/c.1/physfn", "c");  // shares the rate of eth1
  const Topology machine = read();
  ASSERT_EQ(machine.nics.size(), 3U);
  EXPECT_EQ(machine.nics[0].name, "mlx5_0:1");
  EXPECT_EQ(machine.nics[1].name, "mlx5_1:1");
  EXPECT_EQ(machine.nics[1].kind, "Ethernet");
  EXPECT_EQ(machine.nics[2].name, "eth1");
}

TEST_F(Sysfs, says_that_no_nic_is_up) {
  EXPECT_EQ(read().notes, std::vector<std::string>{"no NIC is up"});
  add_net("lo", "", "-1");
  EXPECT_TRUE(read().nics.empty());
}

TEST(Nics, are_shown) {
  View view;
  view.machine.nics = {{"mlx5_0:1", 400'000, 1, "InfiniBand"}, {"eth0", 0, -1, "Ethernet"}};
  const std::string text = to_text(view);
  EXPECT_NE(text.find("mlx5_0:1  InfiniBand  400 Gb/s"), std::string::npos) << text;
  const nlohmann::json nics = to_json(view)["nics"];
  ASSERT_EQ(nics.size(), 2U);
  EXPECT_EQ(nics[0]["name"], "mlx5_0:1");
  EXPECT_EQ(nics[0]["kind"], "InfiniBand");
  EXPECT_EQ(nics[0]["node"], 1);
  EXPECT_EQ(nics[0]["bytes_per_second"], 50e9);
  EXPECT_TRUE(nics[1]["node"].is_null());
  EXPECT_TRUE(nics[1]["bytes_per_second"].is_null());
  EXPECT_NE(to_svg(view).find("1 InfiniBand port of 400 Gb/s, 1 Ethernet port"), std::string::npos);
}

}  // namespace
}  // namespace strake::topo
