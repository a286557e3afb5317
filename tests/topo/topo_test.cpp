// `strake topo` of machines that do not exist: hwloc reads a synthetic description, and a stand-in
// takes the place of NVML.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "machine/profile.hpp"
#include "machine/topology.hpp"
#include "made_up.hpp"
#include "report/one_size.hpp"

namespace strake::topo {
namespace {

using nlohmann::json;

// Two sockets, each with a NUMA node, and 8 cores of two threads. (What a GB is depends on hwloc.)
constexpr const char* kSynthetic =
    "pack:2 [numa(memory=68719476736)] l3:1(size=33554432) core:8 l2:1(size=1048576) "
    "l1d:1(size=49152) pu:2";

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Topo : public testing::Test {
 protected:
  Topo() { std::ofstream(profile_) << report_test::json_of(report_test::made_up("made", 4, 1)); }
  ~Topo() override {
    for (const std::string& path : {profile_, out_, err_, svg_, here_}) std::remove(path.c_str());
  }

  /// `nvml`: what the stand-in shows; empty: there is no NVML.
  Outcome topo(const std::string& arguments, const std::string& nvml) const {
    std::string command = "env STRAKE_PROFILE=none HWLOC_THISSYSTEM=0 HWLOC_SYNTHETIC='" +
                          std::string(kSynthetic) + "' ";
    command += "LD_LIBRARY_PATH=" + std::string(nvml.empty() ? "/nowhere" : FAKE_NVML_FOLDER) +
               " FAKE_NVML=" + nvml + " ";
    command += STRAKE_COMMAND " topo " + arguments + " >" + out_ + " 2>" + err_;
    const int status = std::system(command.c_str());
    return {WEXITSTATUS(status), contents(out_), contents(err_)};
  }

  std::string profile_ = testing::TempDir() + "strake_topo_profile.json";
  std::string out_ = testing::TempDir() + "strake_topo_out";
  std::string err_ = testing::TempDir() + "strake_topo_err";
  std::string svg_ = testing::TempDir() + "strake_topo.svg";
  std::string here_ = testing::TempDir() + "strake_topo_here.json";
};

TEST(Pcie, rates_are_those_after_encoding) {
  EXPECT_NEAR(machine::pcie_rate(3, 16), 15.754e9, 1e6);
  EXPECT_NEAR(machine::pcie_rate(5, 16), 63.015e9, 1e6);
  EXPECT_EQ(machine::pcie_rate(0, 16), 0);
  EXPECT_NEAR(machine::pcie_rate(7, 16), 242e9, 1e6);
  EXPECT_EQ(machine::pcie_rate(8, 16), 0);
}

#ifdef STRAKE_HAS_HWLOC
TEST_F(Topo, shows_sockets_nodes_and_caches_by_hwloc) {
  const Outcome outcome = topo("--json", "none");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json machine = json::parse(outcome.out);
  ASSERT_EQ(machine["sockets"].size(), 2U);
  EXPECT_EQ(machine["sockets"][1]["cores"], 8);
  EXPECT_EQ(machine["sockets"][1]["threads"], 16);
  ASSERT_EQ(machine["nodes"].size(), 2U);
  EXPECT_EQ(machine["nodes"][1]["socket"], 1);
  EXPECT_EQ(machine["nodes"][1]["memory_bytes"], 64LL << 30);
  EXPECT_EQ(machine["nodes"][1]["threads"], "16-31");
  bool level3 = false;
  for (const json& cache : machine["caches"]) {
    if (cache["level"] != 3) continue;
    level3 = true;
    EXPECT_EQ(cache["bytes"], 32 << 20);
    EXPECT_EQ(cache["count"], 2);
    EXPECT_EQ(cache["threads"], 16);
  }
  EXPECT_TRUE(level3);
  EXPECT_NE(outcome.out.find("hwloc shows another machine"), std::string::npos);
}
#else
TEST_F(Topo, says_that_it_was_built_without_hwloc) {
  const Outcome outcome = topo("", "none");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("built without hwloc"), std::string::npos) << outcome.out;
}
#endif

TEST_F(Topo, shows_gpus_linked_by_switches) {
  const Outcome outcome = topo("--json", "switch");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json machine = json::parse(outcome.out);
  ASSERT_EQ(machine["gpus"].size(), 4U);
  const json& gpu = machine["gpus"][2];
  EXPECT_EQ(gpu["name"], "NVIDIA Fake 9000");
  EXPECT_EQ(gpu["uuid"], "GPU-0000-2");
  EXPECT_EQ(gpu["pci"], "0000:58:00.0");
  EXPECT_EQ(gpu["memory_bytes"], 141LL << 30);
  EXPECT_EQ(gpu["pcie"]["generation"], 5);
  EXPECT_EQ(gpu["pcie"]["width"], 16);
  EXPECT_EQ(gpu["nvlink"]["links"], 18);
  EXPECT_TRUE(gpu["node"].is_null());
  ASSERT_EQ(machine["links"].size(), 6U);
  for (const json& link : machine["links"]) {
    EXPECT_EQ(link["name"], "NV18");
    EXPECT_EQ(link["nvswitch"], true);
    EXPECT_DOUBLE_EQ(link["bytes_per_second"], 18 * 26562e6);
  }
  const Outcome table = topo("", "switch");
  EXPECT_NE(table.out.find("NV18 478 GB/s"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("PCIe 5 x16, 63 GB/s"), std::string::npos) << table.out;
}

TEST_F(Topo, a_table_that_is_too_wide_goes_on_below) {
  std::istringstream lines(topo("--profile " + profile_, "eight").out);
  int heads = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    heads += line.starts_with("        gpu") ? 1 : 0;
  }
  EXPECT_EQ(heads, 2);  // of the links between GPUs
}

TEST_F(Topo, shows_direct_links_and_old_drivers) {
  const json machine = json::parse(topo("--json", "direct").out);
  ASSERT_EQ(machine["links"].size(), 6U);
  for (const json& link : machine["links"]) {
    const int from = link["from"];
    const int to = link["to"];
    EXPECT_EQ(link["links"], (from + to) % 3 + 1);
    EXPECT_EQ(link["nvswitch"], false);
    EXPECT_DOUBLE_EQ(link["bytes_per_second"], ((from + to) % 3 + 1) * 25781e6);
  }
}

TEST_F(Topo, shows_pcie_between_gpus_without_nvlink) {
  const json machine = json::parse(topo("--json", "pcie").out);
  ASSERT_EQ(machine["links"].size(), 1U);
  EXPECT_EQ(machine["links"][0]["kind"], "pcie");
  EXPECT_EQ(machine["links"][0]["name"], "SYS");
}

TEST_F(Topo, works_with_no_gpu_and_says_why) {
  std::vector<std::pair<std::string, std::string>> cases = {{"broken", "Driver Not Loaded"},
                                                            {"none", "NVML finds no GPU"}};
  // A machine with a driver has the library in the loader's default folders.
  if (dlopen("libnvidia-ml.so.1", RTLD_LAZY) == nullptr)
    cases.emplace_back("", "there is no libnvidia-ml.so.1");
  for (const auto& [nvml, note] : cases) {
    const Outcome outcome = topo("", nvml);
    EXPECT_EQ(outcome.status, 0) << nvml;
    EXPECT_NE(outcome.out.find(note), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("no bandwidths: STRAKE_PROFILE=none"), std::string::npos)
        << outcome.out;
    EXPECT_EQ(outcome.err, "");
  }
}

TEST_F(Topo, shows_the_bandwidths_of_a_profile) {
  const json profile = json::parse(contents(profile_));
  double rate = 0;
  for (const json& result : profile["results"])
    if (result["name"] == "gpu/peer/1-2" && result["bytes"] == 1 << 28)
      rate = (1 << 28) / result["median"].get<double>();
  ASSERT_GT(rate, 0);
  const json shown = json::parse(topo("--json --profile " + profile_, "switch").out)["measured"];
  EXPECT_EQ(shown["profile"], "made, 2025-11-21T09:30:00Z");
  std::size_t from = 0;
  std::size_t to = 0;
  for (std::size_t i = 0; i < shown["places"].size(); ++i) {
    if (shown["places"][i] == "gpu1") from = i;
    if (shown["places"][i] == "gpu2") to = i;
  }
  EXPECT_DOUBLE_EQ(shown["bytes_per_second"][from][to], rate);
  EXPECT_TRUE(shown["bytes_per_second"][from][from].is_null());
  EXPECT_FALSE(shown["bytes_per_second"][to][from].is_null());
}

TEST(OneSize, is_the_largest_that_all_of_a_kind_have) {
  machine::Profile profile;
  const auto add = [&](const char* name, std::initializer_list<std::int64_t> sizes) {
    for (const std::int64_t bytes : sizes) {
      machine::Result result;
      result.name = name;
      result.bytes = bytes;
      result.median = 1e-6 + static_cast<double>(bytes) / 100e9;
      profile.results.push_back(result);
    }
  };
  add("gpu/peer/0-1", {1 << 10, 1 << 26, 1 << 30});
  add("gpu/peer/1-0/push", {1 << 20, 1 << 26});
  add("gpu/copy/device-local", {1 << 10, 1 << 30});
  add("gpu/copy/pinned-to-device", {1 << 10, 1 << 26});
  add("gpu/copy/device-to-pinned", {1 << 10});
  add("gpu/copy/pinned-node0-to-device", {1 << 28});
  add("gpu/copy/pinned-node0-to-device/gpu1", {1 << 26});
  report::BandwidthMatrix matrix = report::matrix_of(profile);
  report::use_one_size(matrix, profile);
  const auto bytes = [&](const char* from, const char* to) {
    return matrix.cells[matrix.place(from)][matrix.place(to)].bytes;
  };
  EXPECT_EQ(bytes("gpu0", "gpu1"), 1 << 26);
  EXPECT_EQ(bytes("gpu1", "gpu0"), 1 << 26);
  EXPECT_EQ(bytes("gpu0", "gpu0"), 1 << 30);
  EXPECT_EQ(bytes("pinned", "gpu0"), 1 << 10);
  EXPECT_EQ(bytes("gpu0", "pinned"), 1 << 10);
  EXPECT_EQ(bytes("node0", "gpu0"), 1 << 28);  // they share none
  EXPECT_EQ(bytes("node0", "gpu1"), 1 << 26);
  EXPECT_EQ(matrix.cells[matrix.place("gpu0")][matrix.place("gpu1")].rate,
            matrix.cells[matrix.place("gpu1")][matrix.place("gpu0")].rate);
  EXPECT_EQ(report::sizes_text(matrix),
            "several sizes node-gpu, 1 KiB pinned-gpu, 1 GiB within a gpu, 64 MiB gpu-gpu");
  EXPECT_EQ(report::sizes_text({}), "");
}

TEST_F(Topo, shows_no_asymmetry_where_there_is_none) {
  const std::string h200 = STRAKE_PROFILES "/h200-x2.json";
  const json shown = json::parse(topo("--json --profile " + h200, "switch").out)["measured"];
  const auto at = [&](const char* place) {
    const auto& places = shown["places"];
    return static_cast<std::size_t>(std::find(places.begin(), places.end(), place) -
                                    places.begin());
  };
  const auto cell = [&](const char* of, const char* from, const char* to) {
    return shown[of][at(from)][at(to)].get<double>();
  };
  EXPECT_EQ(cell("bytes", "gpu0", "gpu1"), 64 << 20);
  EXPECT_EQ(cell("bytes", "gpu1", "gpu0"), 64 << 20);
  EXPECT_NEAR(cell("bytes_per_second", "gpu0", "gpu1"), 373e9, 1e9);
  EXPECT_NEAR(cell("bytes_per_second", "gpu1", "gpu0"), 373e9, 1e9);
  EXPECT_EQ(cell("bytes", "gpu0", "gpu0"), 1 << 30);
  for (const char* gpu : {"gpu0", "gpu1"}) {
    EXPECT_EQ(cell("bytes", "pinned", gpu), 64 << 20);
    EXPECT_EQ(cell("bytes", gpu, "pinned"), 64 << 20);
  }
  EXPECT_TRUE(shown["bytes"][at("gpu0")][at("gpu2")].is_null());
  const Outcome table = topo("--profile " + h200, "switch");
  EXPECT_NE(table.out.find("  copies of 1 GiB node-node, 256 MiB node-gpu, 64 MiB pinned-gpu, "
                           "1 GiB within a gpu, 64 MiB gpu-gpu\n"),
            std::string::npos)
      << table.out;
}

TEST_F(Topo, says_that_a_profile_is_of_another_machine) {
  const Outcome other = topo("--profile " + profile_, "switch");
  EXPECT_NE(other.out.find("from the profile of another machine: made, 2025-11-21T09:30:00Z\n"),
            std::string::npos)
      << other.out;
  EXPECT_EQ(
      json::parse(topo("--json --profile " + profile_, "switch").out)["measured"]["other_machine"],
      true);
  machine::Profile own = report_test::made_up("made", 4, 1);
  own.key = machine::machine_key();
  std::ofstream(profile_) << report_test::json_of(own);
  const Outcome here = topo("--profile " + profile_, "switch");
  EXPECT_NE(here.out.find("from the profile of made, 2025-11-21T09:30:00Z\n"), std::string::npos)
      << here.out;
  EXPECT_EQ(
      json::parse(topo("--json --profile " + profile_, "switch").out)["measured"]["other_machine"],
      false);
}

TEST_F(Topo, draws_the_machine) {
  const Outcome outcome = topo("--svg " + svg_ + " --profile " + profile_, "switch");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const std::string drawing = contents(svg_);
  EXPECT_EQ(drawing.rfind("<svg xmlns=", 0), 0U);
  for (const char* words :
       {">gpu 3<", ">NVSwitch<", ">18 x 26.6 GB/s<", ">= 478 GB/s<", ">PCIe 5 x16, 63 GB/s<",
        ">pinned<", "profile of another machine: made", ", 256 MiB gpu-gpu<"})
    EXPECT_NE(drawing.find(words), std::string::npos) << words;
#ifdef STRAKE_HAS_HWLOC
  EXPECT_NE(drawing.find(">socket 1: 8 cores, 16 threads<"), std::string::npos);
#endif
  // Narrow windows shrink it, and no words reach past its edge, in a wide font either.
  EXPECT_NE(drawing.find("max-width:100%"), std::string::npos);
  const double width = std::stod(drawing.substr(drawing.find("viewBox=\"0 0 ") + 13));
  const std::regex text("<text x=\"([0-9.]+)\"[^>]*text-anchor=\"start\">([^<]*)<");
  int texts = 0;
  for (std::sregex_iterator at(drawing.begin(), drawing.end(), text), end; at != end; ++at) {
    ++texts;
    EXPECT_LE(std::stod(at->str(1)) + 0.62 * 12 * static_cast<double>(at->str(2).size()), width)
        << at->str(2);
  }
  EXPECT_GT(texts, 10);
}

TEST_F(Topo, writes_a_machine_that_plan_reads) {
  const auto plan = [this] {
    const std::string command = std::string(STRAKE_COMMAND) + " plan --machine " + here_ +
                                " --nodes 2 --grid 512x512x512 >" + out_ + " 2>" + err_;
    return WEXITSTATUS(std::system(command.c_str()));
  };
  const Outcome gpus = topo("--nic-gbs 50 --machine-file " + here_, "switch");
  EXPECT_EQ(gpus.status, 0) << gpus.err;
  EXPECT_EQ(gpus.out, "");
  EXPECT_EQ(plan(), 0) << contents(err_);
  EXPECT_NE(contents(out_).find("us: NICs of 50 GB/s of node 0, sending"), std::string::npos)
      << contents(out_);
#ifdef STRAKE_HAS_HWLOC
  const std::string cores = "--nic-gbs 50 --machine-file " + here_ + " --profile " + profile_;
  EXPECT_EQ(topo(cores, "none").status, 0) << contents(err_);
  EXPECT_EQ(json::parse(contents(here_))["places_per_node"], 16);
  EXPECT_EQ(plan(), 0) << contents(err_);
#endif
}

TEST_F(Topo, refuses_a_machine_file_that_lacks_a_number) {
  EXPECT_EQ(topo("--nic-gbs 50 --machine-file " + here_, "none").status, 2);
#ifdef STRAKE_HAS_HWLOC
  EXPECT_NE(contents(err_).find("strake measure --filter '^copy/'"), std::string::npos)
      << contents(err_);
#endif
  EXPECT_EQ(contents(here_), "");
  EXPECT_EQ(topo("--nic-gbs 50 --machine-file /nowhere/here.json", "switch").status, 2);
  EXPECT_NE(contents(err_).find("/nowhere/here.json can't be written"), std::string::npos);
  EXPECT_EQ(topo("--nic-gbs 50", "switch").status, 2);
  EXPECT_NE(contents(err_).find("--nic-gbs requires --machine-file"), std::string::npos)
      << contents(err_);
  for (const char* wrong : {"0", "-1", "nan", "inf", "fast", "5x"}) {
    const std::string words = std::string("--nic-gbs=") + wrong + " --machine-file " + here_;
    EXPECT_EQ(topo(words, "switch").status, 2) << wrong;
    EXPECT_NE(contents(err_).find("is no number above 0"), std::string::npos) << contents(err_);
  }
}

TEST_F(Topo, files_that_are_not_there_end_with_2) {
  EXPECT_EQ(topo("--profile /nowhere.json", "none").status, 2);
  EXPECT_EQ(topo("--svg /nowhere/t.svg", "none").status, 2);
  EXPECT_NE(contents(err_).find("/nowhere/t.svg can't be written"), std::string::npos);
  EXPECT_EQ(topo("--nothing", "none").status, 2);
}

}  // namespace
}  // namespace strake::topo
